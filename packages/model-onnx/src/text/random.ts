/**
 * Seeded random numbers that are the same on every machine: xoshiro128** by Blackman and Vigna, its state filled by
 * splitmix32.
 */

/** Numbers from 0 to below 1, of 53 bits. `seed` is of 32 bits. */
export function createRandom(seed: number): () => number {
  let mixed = seed >>> 0;
  const split = (): number => {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    let word = mixed;
    word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
    return (word ^ (word >>> 16)) >>> 0;
  };
  const state = Uint32Array.from({ length: 4 }, split);
  const next = (): number => {
    const result = starStar(state[1] as number);
    advance(state);
    return result;
  };
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

function starStar(word: number): number {
  return Math.imul(rotateLeft(Math.imul(word, 5), 7), 9) >>> 0;
}

function advance(state: Uint32Array): void {
  let [a = 0, b = 0, c = 0, d = 0] = state;
  const shifted = b << 9;
  c ^= a;
  d ^= b;
  b ^= c;
  a ^= d;
  c ^= shifted;
  state.set([a, b, c, rotateLeft(d, 11)]);
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
