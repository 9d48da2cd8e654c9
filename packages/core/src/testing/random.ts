/**
 * Random numbers that are the same in every run.
 */
import { createDraws } from './draws.js';

/** Gives whole numbers from 0 to `below - 1`; at most 2^24. */
export type Random = (below: number) => number;

export function createRandom(seed: number): Random {
  const draw = createDraws(seed);
  return (below) => Math.floor(((draw() * 4096 + draw()) / 2 ** 24) * below);
}

export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = random(i + 1);
    [result[i], result[j]] = [result[j] as Item, result[i] as Item];
  }
  return result;
}
