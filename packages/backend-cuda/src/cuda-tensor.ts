/**
 * Tensors in device memory: keys, values, queries in, outputs out.
 */
import {
  checkDescribed,
  type DeviceTensor,
  elementBytes,
  refuseTensor,
  type StridedTensor,
  type StridedTensorOptions,
  stridedTensor,
  type Tensor,
} from '@lowbit-kv/core';
import type { Context } from './driver/context.js';
import { DeviceRange } from './driver/device-memory.js';

export type CudaTensorOptions = StridedTensorOptions;

/** Where the elements of a tensor lie. */
export interface TensorPlace extends StridedTensor {
  /** Begins at the first element. */
  readonly range: DeviceRange;
}

const NEXT = 'Describe the memory as it is: cudaTensor(range, { type, shape, offset, strides }).';

/**
 * Names a part of device memory as a tensor of this backend; memory of the caller comes from `DeviceMemory.of`, and stays
 * theirs. Throws TENSOR_INVALID for a shape, an offset or strides that leave the range, and for elements out of alignment.
 */
export function cudaTensor(range: DeviceRange, options: CudaTensorOptions): DeviceTensor {
  const { bytes, pointer } = range;
  const elements = stridedTensor(options, { name: 'memory', bytes, next: NEXT });
  const { type, shape } = elements;
  const size = elementBytes(type);
  if (pointer % BigInt(size) !== 0n)
    refuseTensor('elements out of alignment', pointer, `multiples of ${size} bytes`, NEXT);
  const first = (options.offset ?? 0) * size;
  const place: TensorPlace = { ...elements, range: range.range(first, bytes - first) };
  return { type, shape, device: 'cuda', handle: place };
}

/** Of a tensor that a backend in this context is given. Throws TENSOR_INVALID for any other tensor. */
export function placeOf(tensor: Tensor, context: Context): TensorPlace {
  const { device, handle } = tensor as DeviceTensor;
  if (device !== 'cuda' || !isPlace(handle))
    return refuseTensor(
      'a tensor of another device',
      device,
      'what cudaTensor(range, ...) gives',
      NEXT,
    );
  const { context: own } = handle.range;
  if (own.handle !== context.handle) {
    const [value, valid] = [own, context].map((one) => `device ${one.device.ordinal}`);
    const here = `memory of the backend's context, on ${valid}`;
    refuseTensor('a tensor in another context', value, here, NEXT);
  }
  checkDescribed(tensor, handle, NEXT);
  return handle;
}

function isPlace(handle: unknown): handle is TensorPlace {
  return (handle as Partial<TensorPlace> | null | undefined)?.range instanceof DeviceRange;
}
