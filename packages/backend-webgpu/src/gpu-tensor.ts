/**
 * Tensors in buffers of the caller: keys, values, queries in, outputs out.
 */
import { type DeviceTensor, LowbitKvError, type Tensor, type TensorType } from '@lowbit-kv/core';

export interface GpuTensorOptions {
  readonly type: TensorType;
  /** Ragged `[tokens, heads, headDim]`, or `[batch, tokens, heads, headDim]`, which is taken as `[batch * tokens, heads, headDim]`. */
  readonly shape: readonly number[];
  /** First element. Default 0. */
  readonly offset?: number;
  /** Elements from one index to the next, of every dimension but the last, which is dense. Default: dense. */
  readonly strides?: readonly number[];
}

/** How elements lie in the buffer, in elements. */
export interface GpuLayout {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly tokensPerBatch: number;
  readonly batchStride: number;
  readonly tokenStride: number;
  readonly headStride: number;
  readonly dense: boolean;
}

const BYTES: Readonly<Record<TensorType, number>> = { f32: 4, f16: 2, bf16: 2 };
const STORAGE = 0x80;

/**
 * Names a part of a buffer as a tensor of this backend. The buffer needs usage STORAGE and stays the caller's. Throws
 * TENSOR_INVALID for a shape, an offset or strides that leave the buffer.
 */
export function gpuTensor(
  buffer: GPUBuffer,
  { type, shape, offset = 0, strides }: GpuTensorOptions,
): DeviceTensor {
  if (!(type in BYTES)) refuse('unknown tensor type', type, Object.keys(BYTES));
  const sizes = [...shape];
  if (sizes.length < 2 || sizes.length > 4 || !sizes.every(isCount))
    refuse('not a shape', shape, '[tokens, heads, headDim] or [batch, tokens, heads, headDim]');
  const steps = strides === undefined ? denseStrides(sizes) : [...strides];
  if (steps.length !== sizes.length - 1 || !steps.every(isCount))
    refuse('not strides', strides, `${sizes.length - 1} whole numbers of elements`);
  if (!isCount(offset)) refuse('not an offset', offset, 'a whole number of elements');
  if ((buffer.usage & STORAGE) === 0)
    refuse(
      'the buffer cannot be bound',
      `usage 0x${buffer.usage.toString(16)}`,
      'GPUBufferUsage.STORAGE',
    );
  const isEmpty = sizes.includes(0);
  const last = sizes.reduce((sum, size, axis) => sum + (size - 1) * (steps[axis] ?? 1), offset);
  if (!isEmpty && (last + 1) * BYTES[type] > buffer.size) {
    refuse(
      'the tensor ends behind its buffer',
      { bytes: (last + 1) * BYTES[type] },
      `at most ${buffer.size} bytes`,
    );
  }
  const [batch, ...rest] = sizes.length === 4 ? sizes : [1, ...sizes];
  const [batchStride, ...inner] = sizes.length === 4 ? steps : [0, ...steps];
  const layout: GpuLayout = {
    buffer,
    offset,
    tokensPerBatch: rest[0] as number,
    batchStride: batchStride as number,
    tokenStride: inner[0] as number,
    headStride: inner[1] ?? 1,
    dense: steps.every((step, axis) => step === denseStrides(sizes)[axis]),
  };
  const ragged = [(batch as number) * (rest[0] as number), ...rest.slice(1)];
  return { type, shape: ragged, device: 'webgpu', handle: layout };
}

/** Of a tensor that this backend is given. Throws TENSOR_INVALID for tensors of other devices. */
export function layoutOf(tensor: Tensor): GpuLayout {
  const { device, handle } = tensor as DeviceTensor;
  if (
    device === 'webgpu' &&
    typeof handle === 'object' &&
    handle !== null &&
    'tokenStride' in handle
  )
    return handle as GpuLayout;
  return refuse('a tensor of another device', device, 'what gpuTensor(buffer, ...) gives');
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

function refuse(message: string, value: unknown, valid: string | readonly string[]): never {
  throw new LowbitKvError('TENSOR_INVALID', {
    message,
    value,
    valid,
    next: 'Describe the buffer as it is: gpuTensor(buffer, { type, shape, offset, strides }).',
  });
}
