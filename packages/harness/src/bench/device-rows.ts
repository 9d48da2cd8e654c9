/**
 * Keys and values in memory of a device, for appends.
 */
import type { Random } from '@lowbit-kv/core/testing';
import type { BenchDevice, BenchMemory } from './device.js';
import { drawnRows } from './drawn-rows.js';
import type { RowSource } from './filled-cache.js';
import type { BenchShape } from './report.js';

/** Places to begin at, so that two appends seldom have the same rows. */
const SHIFTS = 61;

/** Appends of up to `most` rows. */
export function deviceRows(
  device: BenchDevice,
  { kvHeads, headDim }: BenchShape,
  most: number,
): RowSource & { dispose(): void } {
  const rows = most + SHIFTS;
  const memories: BenchMemory[] = [];
  const dispose = () => {
    for (const memory of memories) memory.dispose();
  };
  try {
    for (const seed of [11, 12])
      memories.push(device.upload(drawnRows({ rows, heads: kvHeads, headDim, seed })));
  } catch (error) {
    dispose();
    throw error;
  }
  const [keys, values] = memories as [BenchMemory, BenchMemory];
  return {
    rows(count: number, random: Random) {
      const offset = random(SHIFTS) * kvHeads * headDim;
      const tensor = (memory: BenchMemory) => memory.tensor([count, kvHeads, headDim], offset);
      return { key: tensor(keys), value: tensor(values) };
    },
    dispose,
  };
}
