/**
 * Seeded normal data with true tails: per-vector formats take their scale from them, and sums of uniforms have less.
 */
import { encodeF16 } from '@lowbit-kv/core';

/** f16 bits of `count` standard normal values, by the polar form of two uniform draws. */
export function gaussian(seed: number, count: number): Uint16Array {
  let state = seed >>> 0;
  const uniform = () => {
    // Mixing a counter: every seed gives another stream.
    state = (state + 0x9e3779b9) >>> 0;
    let word = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return (((word ^ (word >>> 15)) >>> 0) + 0.5) / 2 ** 32;
  };
  const values = Float32Array.from(
    { length: count },
    () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()),
  );
  return encodeF16(values);
}
