/**
 * Tensors of callers whose elements may lie apart in device memory: how they are described, for every backend that takes them.
 */
import { LowbitKvError } from './errors.js';
import type { TensorType } from './tensor.js';

export interface StridedTensorOptions {
  readonly type: TensorType;
  /** Ragged `[tokens, heads, headDim]`, or `[batch, tokens, heads, headDim]`, which is taken as `[batch * tokens, heads, headDim]`. */
  readonly shape: readonly number[];
  /** First element. Default 0. */
  readonly offset?: number;
  /** Elements from one index to the next, of every dimension but the last, which is dense. Default: dense. */
  readonly strides?: readonly number[];
}

/** How the elements of a tensor lie behind its first; strides in elements. */
export interface StridedTensor {
  readonly type: TensorType;
  /** As the tensor has it: of three dimensions at most. */
  readonly shape: readonly number[];
  readonly tokensPerBatch: number;
  readonly batchStride: number;
  readonly tokenStride: number;
  readonly headStride: number;
  /** One after another, without gaps. */
  readonly dense: boolean;
}

/** What a backend says of its memory in errors. */
export interface StridedMemory {
  /** For example `buffer`. */
  readonly name: string;
  readonly bytes: number;
  /** How memory is described as a tensor. */
  readonly next: string;
}

const ELEMENT_BYTES: Readonly<Record<TensorType, number>> = { f32: 4, f16: 2, bf16: 2 };

/** Of a tensor of this type. */
export function elementBytes(type: TensorType): number {
  return ELEMENT_BYTES[type];
}

/** Throws TENSOR_INVALID for an unknown type, and for a shape, an offset or strides that leave the memory. */
export function stridedTensor(
  { type, shape, offset = 0, strides }: StridedTensorOptions,
  memory: StridedMemory,
): StridedTensor {
  const refuse = (message: string, value: unknown, valid: string | readonly unknown[]) =>
    refuseTensor(message, value, valid, memory.next);
  if (!Object.hasOwn(ELEMENT_BYTES, type))
    refuse('unknown tensor type', type, Object.keys(ELEMENT_BYTES));
  const sizes = [...shape];
  if (sizes.length < 2 || sizes.length > 4 || !sizes.every(isCount))
    refuse('not a shape', shape, '[tokens, heads, headDim] or [batch, tokens, heads, headDim]');
  const dense = denseStrides(sizes);
  const steps = strides === undefined ? dense : [...strides];
  if (steps.length !== dense.length || !steps.every(isCount))
    refuse('not strides', strides, `${dense.length} whole numbers of elements`);
  if (!isCount(offset)) refuse('not an offset', offset, 'a whole number of elements');
  const last = sizes.reduce((sum, size, axis) => sum + (size - 1) * (steps[axis] ?? 1), offset);
  const bytes = (sizes.includes(0) ? offset : last + 1) * ELEMENT_BYTES[type];
  if (bytes > memory.bytes)
    refuse(`the tensor ends behind its ${memory.name}`, { bytes }, `at most ${memory.bytes} bytes`);
  const isBatched = sizes.length === 4;
  const [batch, tokens, ...inner] = (isBatched ? sizes : [1, ...sizes]) as [number, number];
  const [batchStride, tokenStride, headStride = 1] = (isBatched ? steps : [0, ...steps]) as [
    number,
    number,
  ];
  return {
    type,
    shape: [batch * tokens, ...inner],
    tokensPerBatch: tokens,
    batchStride,
    tokenStride,
    headStride,
    dense: steps.every((step, axis) => sizes[axis] === 1 || step === dense[axis]),
  };
}

/** Throws TENSOR_INVALID for a tensor that is not what its memory was described as. `next`: as StridedMemory has it. */
export function checkDescribed(
  { type, shape }: Pick<StridedTensor, 'type' | 'shape'>,
  described: StridedTensor,
  next: string,
): void {
  const isSame =
    shape.length === described.shape.length &&
    shape.every((size, axis) => size === described.shape[axis]);
  if (type === described.type && isSame) return;
  const valid = [described.type, described.shape];
  refuseTensor('not what its memory was described as', { type, shape }, valid, next);
}

export function refuseTensor(
  message: string,
  value: unknown,
  valid: string | readonly unknown[],
  next: string,
): never {
  throw new LowbitKvError('TENSOR_INVALID', { message, value, valid, next });
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
