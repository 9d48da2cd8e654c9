/**
 * Tensors in buffers of the caller: keys, values, queries in, outputs out.
 */
import {
  checkDescribed,
  type DeviceTensor,
  refuseTensor,
  type StridedTensor,
  type StridedTensorOptions,
  stridedTensor,
  type Tensor,
} from '@lowbit-kv/core';

export type GpuTensorOptions = StridedTensorOptions;

/** How elements lie in the buffer. */
export interface GpuLayout extends StridedTensor {
  readonly buffer: GPUBuffer;
  /** First element. */
  readonly offset: number;
}

const STORAGE = 0x80;
const NEXT = 'Describe the buffer as it is: gpuTensor(buffer, { type, shape, offset, strides }).';

/**
 * Names a part of a buffer as a tensor of this backend. The buffer needs usage STORAGE and stays the caller's. Throws
 * TENSOR_INVALID for a shape, an offset or strides that leave the buffer.
 */
export function gpuTensor(buffer: GPUBuffer, options: GpuTensorOptions): DeviceTensor {
  const { size, usage } = buffer;
  const elements = stridedTensor(options, { name: 'buffer', bytes: size, next: NEXT });
  if ((usage & STORAGE) === 0) {
    const got = `usage 0x${usage.toString(16)}`;
    refuseTensor('the buffer cannot be bound', got, 'GPUBufferUsage.STORAGE', NEXT);
  }
  const { type, shape } = elements;
  const layout: GpuLayout = { ...elements, buffer, offset: options.offset ?? 0 };
  return { type, shape, device: 'webgpu', handle: layout };
}

/** Of a tensor that this backend is given. Throws TENSOR_INVALID for tensors of other devices, and for one that was described as another. */
export function layoutOf(tensor: Tensor): GpuLayout {
  const { device, handle } = tensor as DeviceTensor;
  if (device !== 'webgpu' || !isLayout(handle))
    return refuseTensor(
      'a tensor of another device',
      device,
      'what gpuTensor(buffer, ...) gives',
      NEXT,
    );
  checkDescribed(tensor, handle, NEXT);
  return handle;
}

function isLayout(handle: unknown): handle is GpuLayout {
  return typeof handle === 'object' && handle !== null && 'tokenStride' in handle;
}
