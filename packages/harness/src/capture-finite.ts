/** Finds values that a cache cannot hold. Works on the integer bits of the floats. */
import { LowbitKvError } from '@lowbit-kv/core';

/** Where a tensor of a capture stands, for errors. */
export interface CaptureTensorPlace {
  readonly file: string;
  readonly tensor: string;
  readonly layer: number;
  /** [1, heads, positions, headDim] */
  readonly shape: readonly number[];
  /** Position in the sequence of the tensor's first token. */
  readonly firstToken: number;
}

/**
 * Throws NON_FINITE for the first f16 pattern that is NaN or infinite.
 * `original` gives the value before rounding to f16, which may have been finite.
 */
export function requireFiniteF16(
  bits: Uint16Array,
  place: CaptureTensorPlace,
  original: (index: number) => number,
): void {
  for (let i = 0; i < bits.length; i++) {
    if (((bits[i] as number) & 0x7c00) === 0x7c00) throw nonFinite(place, i, original(i));
  }
}

/** Throws NON_FINITE for the first f32 value that is NaN or infinite. */
export function requireFiniteF32(values: Float32Array, place: CaptureTensorPlace): void {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < words.length; i++) {
    if (((words[i] as number) & 0x7f800000) === 0x7f800000) {
      throw nonFinite(place, i, values[i] as number);
    }
  }
}

function nonFinite(place: CaptureTensorPlace, index: number, value: number): LowbitKvError {
  const { file, tensor, layer, shape, firstToken } = place;
  const [, , positions, headDim] = shape as [number, number, number, number];
  const row = Math.floor(index / headDim);
  return new LowbitKvError('NON_FINITE', {
    message: Number.isFinite(value)
      ? 'the capture holds a value outside the range of f16'
      : 'the capture holds a value that is not finite',
    value,
    valid: 'finite values, -65504 to 65504 for keys and values',
    next: 'Capture again from a forward pass that does not overflow.',
    where: {
      file,
      tensor,
      layer,
      head: Math.floor(row / positions),
      token: firstToken + (row % positions),
      channel: index % headDim,
    },
  });
}
