// Generated numbers have what their sliders say, and are the same for the same seed.
import { describe, expect, it } from 'vitest';
import { RECIPE_RANGES, type SyntheticRecipe, syntheticData } from '../src/data/synthetic.js';

const PLAIN: SyntheticRecipe = {
  outlierChannels: 0,
  outlierStrength: 8,
  tails: 0,
  means: 0,
  seed: 1,
};

async function keysOf(changes: Partial<SyntheticRecipe>) {
  const data = syntheticData({ ...PLAIN, ...changes });
  const { exact, query } = await data.readLayer(0);
  const width = data.sizes.kvHeads * data.sizes.keyHeadDim;
  const channels = Array.from({ length: width }, (_, channel) => {
    const values = Array.from(
      { length: data.sizes.tokens },
      (__, token) => exact.key[token * width + channel] as number,
    );
    const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
    const power = (n: number) =>
      values.reduce((sum, x) => sum + (x - mean) ** n, 0) / values.length;
    return { mean, size: Math.sqrt(power(2)), kurtosis: power(4) / power(2) ** 2 };
  });
  return { data, query, key: exact.key, channels };
}

const average = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

describe('keys', () => {
  it('are normal without anything', async () => {
    const { channels } = await keysOf({});
    expect(average(channels.map(({ size }) => size))).toBeCloseTo(1, 1);
    expect(average(channels.map(({ kurtosis }) => kurtosis))).toBeCloseTo(3, 0);
    expect(Math.max(...channels.map(({ mean }) => Math.abs(mean)))).toBeLessThan(0.2);
  });

  it.each([1, 3, 12])('have %i outlier channels in each head', async (outlierChannels) => {
    const { channels } = await keysOf({ outlierChannels });
    const large = channels.map(({ size }) => size > 6);
    expect(large.slice(0, 64).filter(Boolean)).toHaveLength(outlierChannels);
    expect(large.slice(64).filter(Boolean)).toHaveLength(outlierChannels);
  });

  it('have heavy tails and means', async () => {
    const heavy = await keysOf({ tails: 1 });
    expect(average(heavy.channels.map(({ kurtosis }) => kurtosis))).toBeGreaterThan(8);
    const moved = await keysOf({ means: 3 });
    expect(Math.sqrt(average(moved.channels.map(({ mean }) => mean ** 2)))).toBeCloseTo(3, 0);
  });

  it('are the same for a seed, and others for another', async () => {
    const [a, b, c] = [await keysOf({}), await keysOf({}), await keysOf({ seed: 2 })];
    expect(a.key).toEqual(b.key);
    expect(a.key).not.toEqual(c.key);
  });

  it('are finite at the ends of all sliders', async () => {
    const most = Object.fromEntries(
      Object.entries(RECIPE_RANGES).map(([name, { max }]) => [name, max]),
    );
    const { key, query } = await keysOf(most);
    expect(key.every(Number.isFinite)).toBe(true);
    expect(query.every(Number.isFinite)).toBe(true);
  });
});
