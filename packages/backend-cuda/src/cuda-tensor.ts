/**
 * Tensors in device memory: keys, values, queries in, outputs out.
 */
import { type DeviceTensor, LowbitKvError, type Tensor, type TensorType } from '@lowbit-kv/core';
import type { Context } from './driver/context.js';
import type { DeviceRange } from './driver/device-memory.js';

export interface CudaTensorOptions {
  readonly type: TensorType;
  /** Ragged `[tokens, heads, headDim]`, or `[batch, tokens, heads, headDim]`, which is taken as `[batch * tokens, heads, headDim]`. */
  readonly shape: readonly number[];
  /** First element. Default 0. */
  readonly offset?: number;
  /** Elements from one index to the next, of every dimension but the last, which is dense. Default: dense. */
  readonly strides?: readonly number[];
}

/** Where the elements of a tensor lie; strides in elements. */
export class TensorPlace {
  readonly range: DeviceRange;
  readonly type: TensorType;
  /** As the tensor has it: of three dimensions at most. */
  readonly shape: readonly number[];
  readonly tokensPerBatch: number;
  readonly batchStride: number;
  readonly tokenStride: number;
  readonly headStride: number;
  /** One after another, without gaps. */
  readonly dense: boolean;

  /** `range` begins at the first element. */
  constructor(
    range: DeviceRange,
    type: TensorType,
    sizes: readonly number[],
    steps: readonly number[],
  ) {
    const [batchStride, ...inner] = sizes.length === 4 ? steps : [0, ...steps];
    this.range = range;
    this.type = type;
    const [batch, ...rest] = sizes.length === 4 ? sizes : [1, ...sizes];
    this.shape = [(batch as number) * (rest[0] as number), ...rest.slice(1)];
    this.tokensPerBatch = (sizes.length === 4 ? sizes[1] : sizes[0]) as number;
    this.batchStride = batchStride as number;
    this.tokenStride = inner[0] as number;
    this.headStride = inner[1] ?? 1;
    const dense = denseStrides(sizes);
    this.dense = steps.every((step, axis) => sizes[axis] === 1 || step === dense[axis]);
  }
}

const BYTES: Readonly<Record<TensorType, number>> = { f32: 4, f16: 2, bf16: 2 };

/**
 * Names a part of device memory as a tensor of this backend; memory of the caller comes from `DeviceMemory.of`, and stays
 * theirs. Throws TENSOR_INVALID for a shape, an offset or strides that leave the range, and for elements out of alignment.
 */
export function cudaTensor(
  range: DeviceRange,
  { type, shape, offset = 0, strides }: CudaTensorOptions,
): DeviceTensor {
  if (!(type in BYTES)) refuse('unknown tensor type', type, Object.keys(BYTES));
  const sizes = [...shape];
  if (sizes.length < 2 || sizes.length > 4 || !sizes.every(isCount))
    refuse('not a shape', shape, '[tokens, heads, headDim] or [batch, tokens, heads, headDim]');
  const steps = strides === undefined ? denseStrides(sizes) : [...strides];
  if (steps.length !== sizes.length - 1 || !steps.every(isCount))
    refuse('not strides', strides, `${sizes.length - 1} whole numbers of elements`);
  if (!isCount(offset)) refuse('not an offset', offset, 'a whole number of elements');
  const last = sizes.reduce((sum, size, axis) => sum + (size - 1) * (steps[axis] ?? 1), offset);
  const bytes = (sizes.includes(0) ? offset : last + 1) * BYTES[type];
  if (bytes > range.bytes)
    refuse('the tensor ends behind its memory', { bytes }, `at most ${range.bytes} bytes`);
  const first = offset * BYTES[type];
  if (range.pointer % BigInt(BYTES[type]) !== 0n)
    refuse('elements out of alignment', range.pointer, `multiples of ${BYTES[type]} bytes`);
  const place = new TensorPlace(range.range(first, range.bytes - first), type, sizes, steps);
  return { type, shape: place.shape, device: 'cuda', handle: place };
}

/** Of a tensor that a backend in this context is given. Throws TENSOR_INVALID for any other tensor. */
export function placeOf(tensor: Tensor, context: Context): TensorPlace {
  const { device, handle, type, shape } = tensor as DeviceTensor;
  if (device !== 'cuda' || !(handle instanceof TensorPlace))
    return refuse('a tensor of another device', device, 'what cudaTensor(range, ...) gives');
  const { context: own } = handle.range;
  if (own.handle !== context.handle) {
    const [value, valid] = [own, context].map((one) => `device ${one.device.ordinal}`);
    refuse('a tensor in another context', value, `memory of the backend's context, on ${valid}`);
  }
  const isSame =
    shape.length === handle.shape.length && shape.every((n, i) => n === handle.shape[i]);
  if (type !== handle.type || !isSame)
    refuse('not what its memory was described as', { type, shape }, [handle.type, handle.shape]);
  return handle;
}

export function bytesOf(type: TensorType): number {
  return BYTES[type];
}

/** Elements of a tensor of this shape. */
export function elementsIn(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

function denseStrides(sizes: readonly number[]): number[] {
  const strides: number[] = [];
  let step = 1;
  for (let axis = sizes.length - 1; axis > 0; axis--) {
    step *= sizes[axis] as number;
    strides.unshift(step);
  }
  return strides;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function refuse(message: string, value: unknown, valid: string | readonly unknown[]): never {
  throw new LowbitKvError('TENSOR_INVALID', {
    message,
    value,
    valid,
    next: 'Describe the memory as it is: cudaTensor(range, { type, shape, offset, strides }).',
  });
}
