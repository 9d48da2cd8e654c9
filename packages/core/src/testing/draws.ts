/**
 * The integer draws behind all generated test data, and the one rounding that ends each generator.
 * Draws are those of a 32-bit linear congruential generator, so that any language makes the same bits.
 */
import { f32ToF16 } from '../float16.js';
import { checkInteger } from './check.js';

/** Number of distinct values of one draw. */
export const DRAW_LEVELS = 4096;

export type DrawnDtype = 'f16' | 'f32';

/** What a generator returns: f16 as bit patterns, f32 as values. */
export type DrawnArray<Dtype extends DrawnDtype> = Dtype extends 'f16' ? Uint16Array : Float32Array;

/** A source of draws 0..4095: `state = (1664525 * state + 1013904223) mod 2^32`, draw = the top 12 bits. */
export function createDraws(seed: number): () => number {
  let state = checkInteger('seed', seed, 0, 0xffffffff) | 0;
  return () => {
    state = (Math.imul(1664525, state) + 1013904223) | 0;
    return state >>> 20;
  };
}

export function allocateDrawn<Dtype extends DrawnDtype>(
  dtype: Dtype,
  length: number,
): DrawnArray<Dtype> {
  return (
    dtype === 'f16' ? new Uint16Array(length) : new Float32Array(length)
  ) as DrawnArray<Dtype>;
}

/** The conversion from a number to what is stored in the array of this dtype. */
export function roundingTo(dtype: DrawnDtype): (value: number) => number {
  return dtype === 'f16' ? roundOnceToF16 : Math.fround;
}

const float = new Float32Array(1);
const word = new Uint32Array(float.buffer);

/** f16 bits nearest to a float64, ties to even, without the double rounding of going through the nearest f32. */
export function roundOnceToF16(value: number): number {
  const nearest = Math.fround(value);
  if (nearest === value || !Number.isFinite(nearest)) return f32ToF16(nearest);
  // Round to odd: cut toward zero and set the last bit, so that the second rounding still sees which side it is on.
  float[0] = nearest;
  const bits = (word[0] ?? 0) - (Math.abs(nearest) > Math.abs(value) ? 1 : 0);
  word[0] = bits | 1;
  return f32ToF16(float[0]);
}
