/**
 * Tensors at the public boundary: host arrays, or a backend's own device memory.
 */

import { LowbitKvError } from './errors.js';
import { f32ToF16 } from './float16.js';

export type TensorType = 'f32' | 'f16' | 'bf16';

/** Row-major host data. f16 and bf16 are bit patterns in a Uint16Array. */
export interface HostTensor {
  readonly type: TensorType;
  readonly shape: readonly number[];
  readonly data: Float32Array | Uint16Array;
}

/** Memory that lives on a device; only the backend that made it, or whose `handle` it is, can use it. */
export interface DeviceTensor {
  readonly type: TensorType;
  readonly shape: readonly number[];
  /** Id of the backend that understands `handle`. */
  readonly device: string;
  readonly handle: unknown;
}

export type Tensor = HostTensor | DeviceTensor;

export function isHostTensor(tensor: Tensor): tensor is HostTensor {
  return 'data' in tensor;
}

/** For backends that compute on the host. Throws TENSOR_INVALID for device memory. */
export function requireHostTensor(tensor: Tensor): HostTensor {
  if (isHostTensor(tensor)) return tensor;
  throw new LowbitKvError('TENSOR_INVALID', {
    message: 'this backend takes host tensors only',
    value: tensor.device,
    valid: 'a tensor with `data`',
    next: 'Read the device tensor back first, or use the backend it belongs to.',
  });
}

/** For backends that give host tensors. Throws TENSOR_INVALID when the caller wants results elsewhere. */
export function refuseTarget(into: { readonly output: Tensor } | undefined): void {
  if (into === undefined) return;
  throw new LowbitKvError('TENSOR_INVALID', {
    message: 'this backend gives its results as host tensors',
    value: 'into',
    valid: 'attention without `into`',
    next: 'Leave `into` out, or use a backend with device memory.',
  });
}

/** A host f32 tensor. */
export function f32Tensor(data: Float32Array, shape: readonly number[]): HostTensor {
  return { type: 'f32', shape, data };
}

/** A host f16 tensor from bit patterns. */
export function f16Tensor(data: Uint16Array, shape: readonly number[]): HostTensor {
  return { type: 'f16', shape, data };
}

/** Product of the dimensions. */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const size of shape) count *= size;
  return count;
}

/** Throws TENSOR_INVALID unless the tensor has this type of data, this shape and as many elements as it says. */
export function checkTensor(
  name: string,
  tensor: Tensor,
  shape: readonly number[],
  layer?: number,
): void {
  const refuse = (
    message: string,
    value: unknown,
    valid: string | readonly unknown[],
    next: string,
  ): never => {
    throw new LowbitKvError('TENSOR_INVALID', {
      message,
      value,
      valid,
      next,
      where: { tensor: name, ...(layer === undefined ? {} : { layer }) },
    });
  };
  if (typeof tensor !== 'object' || tensor === null || !Array.isArray(tensor.shape)) {
    refuse(
      'not a tensor',
      tensor,
      'an object { type, shape, data } or { type, shape, device, handle }',
      'Wrap the array with f16Tensor or f32Tensor.',
    );
  }
  if (!['f32', 'f16', 'bf16'].includes(tensor.type)) {
    refuse('unknown tensor type', tensor.type, ['f32', 'f16', 'bf16'], 'Convert the tensor first.');
  }
  if (
    tensor.shape.length !== shape.length ||
    tensor.shape.some((size, axis) => size !== shape[axis])
  ) {
    refuse(
      'wrong shape',
      tensor.shape,
      JSON.stringify(shape),
      'Pass [tokens, heads, headDim] with the sequences of the step one after another.',
    );
  }
  if (!isHostTensor(tensor)) {
    if (typeof tensor.device !== 'string') {
      refuse(
        'neither host nor device tensor',
        Object.keys(tensor),
        'an object with `data`, or with `device` and `handle`',
        'Wrap the array with f16Tensor or f32Tensor.',
      );
    }
    return;
  }
  const expected = tensor.type === 'f32' ? Float32Array : Uint16Array;
  if (!(tensor.data instanceof expected)) {
    refuse(
      `${tensor.type} data must be a ${expected.name}`,
      Object.prototype.toString.call(tensor.data).slice(8, -1),
      expected.name,
      'Pass the matching typed array, or correct the type field.',
    );
  }
  if (tensor.data.length !== elementCount(shape)) {
    refuse(
      'wrong number of elements',
      tensor.data.length,
      `${elementCount(shape)} elements for shape ${JSON.stringify(shape)}`,
      'Pass exactly the elements of the shape.',
    );
  }
}

/** f16 bits of a host tensor: the same array for f16, else rounded once to nearest even (bf16 through f32). */
export function toF16Bits(tensor: HostTensor): Uint16Array {
  if (tensor.type === 'f16') return tensor.data as Uint16Array;
  const bits = new Uint16Array(tensor.data.length);
  if (tensor.type === 'f32') {
    for (let i = 0; i < bits.length; i++) bits[i] = f32ToF16(tensor.data[i] as number);
  } else {
    const wide = bf16ToF32(tensor.data as Uint16Array);
    for (let i = 0; i < bits.length; i++) bits[i] = f32ToF16(wide[i] as number);
  }
  return bits;
}

/** Values of a host tensor as f32 (queries keep f32 precision). */
export function toF32(
  tensor: HostTensor,
  decode: (bits: Uint16Array) => Float32Array,
): Float32Array {
  if (tensor.type === 'f32') return tensor.data as Float32Array;
  return tensor.type === 'f16'
    ? decode(tensor.data as Uint16Array)
    : bf16ToF32(tensor.data as Uint16Array);
}

function bf16ToF32(bits: Uint16Array): Float32Array {
  const words = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) words[i] = (bits[i] as number) << 16;
  return new Float32Array(words.buffer);
}

/** `[batch, heads, tokens, dim]` to the ragged `[batch * tokens, heads, dim]`; host tensors only. */
export function fromBatched(tensor: HostTensor): HostTensor {
  const [batch, heads, tokens, dim] = tensor.shape as [number, number, number, number];
  if (tensor.shape.length !== 4) {
    throw new LowbitKvError('TENSOR_INVALID', {
      message: 'wrong rank',
      value: tensor.shape,
      valid: '[batch, heads, tokens, headDim]',
      next: 'Pass a tensor of rank 4, or build the ragged form yourself.',
    });
  }
  checkTensor('tensor', tensor, tensor.shape);
  return {
    type: tensor.type,
    shape: [batch * tokens, heads, dim],
    data: swapMiddle(tensor.data, batch, heads, tokens, dim),
  };
}

/** The ragged `[batch * tokens, heads, dim]` to `[batch, heads, tokens, dim]`; every sequence has the same length. */
export function toBatched(tensor: HostTensor, batch: number): HostTensor {
  const [rows, heads, dim] = tensor.shape as [number, number, number];
  if (tensor.shape.length !== 3 || batch < 1 || rows % batch !== 0) {
    throw new LowbitKvError('TENSOR_INVALID', {
      message: 'cannot be split into a batch',
      value: { shape: tensor.shape, batch },
      valid: '[batch * tokens, heads, headDim]',
      next: 'Read ragged results per sequence instead.',
    });
  }
  checkTensor('tensor', tensor, tensor.shape);
  const tokens = rows / batch;
  return {
    type: tensor.type,
    shape: [batch, heads, tokens, dim],
    data: swapMiddle(tensor.data, batch, tokens, heads, dim),
  };
}

/** `[batch, first, second, dim]` to `[batch, second, first, dim]`. */
function swapMiddle<T extends Float32Array | Uint16Array>(
  data: T,
  batch: number,
  first: number,
  second: number,
  dim: number,
): T {
  const result = data.slice() as T;
  for (let b = 0; b < batch; b++) {
    for (let i = 0; i < first; i++) {
      for (let j = 0; j < second; j++) {
        const from = ((b * first + i) * second + j) * dim;
        result.set(data.subarray(from, from + dim), ((b * second + j) * first + i) * dim);
      }
    }
  }
  return result;
}
