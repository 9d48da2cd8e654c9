/**
 * Random numbers that come out the same on every machine.
 */

/** Gives numbers of mean 0 and deviation 1, uniformly spread. */
export type Random = () => number;

const SPREAD = Math.sqrt(12);

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    mixed ^= mixed >>> 15;
    return ((mixed >>> 0) / 2 ** 32 - 0.5) * SPREAD;
  };
}
