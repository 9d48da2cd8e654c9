// Case num-threshold-groups-empty: tokens in which a band is empty, single, constant, or exactly on the thresholds.
import { encodeF16, outlierCount, type Scheme } from '@lowbit-kv/core';
import { describe, expect, test } from 'vitest';
import { DrivenCache } from '../../core/test/support/driven-cache.js';
import { loadCase } from '../../core/test/testing/load-case.js';
import { oaken, oakenMm, oakenSm, oakenSmToken } from '../src/index.js';
import { fixedCalibration } from './support.js';

interface Input {
  readonly thresholds: Record<'outerHi' | 'outerLo' | 'innerHi' | 'innerLo', number>;
  readonly tokens: readonly { readonly name: string; readonly values: readonly number[] }[];
}
const { input } = loadCase<Input, unknown>('num-threshold-groups-empty');
const { outerHi, outerLo, innerHi, innerLo } = input.thresholds;
const thresholds = {
  outerLow: outerLo,
  outerHigh: outerHi,
  innerLow: innerLo,
  innerHigh: innerHi,
};
const headDim = input.tokens[0]?.values.length ?? 0;
const tokens = input.tokens.length;
const value = encodeF16(Float32Array.from(input.tokens.flatMap((token) => token.values)));

const isOuter = (x: number) => x <= outerLo || x >= outerHi;
const isInner = (x: number) => x > innerLo && x < innerHi;
const shiftOf = (x: number) => Math.abs(x >= innerHi ? x - innerHi : innerLo - x);

async function pack(scheme: Scheme) {
  const calibration = fixedCalibration(scheme, thresholds);
  const cache = await DrivenCache.open(scheme, { tokens, headDim, value, calibration });
  await cache.append(tokens);
  return cache;
}

describe.each<[string, Scheme, (middle: readonly number[]) => number]>([
  // Sign and magnitude: a middle code is within M / 16.
  ['sm', oakenSm, (middle) => Math.max(0, ...middle.map(shiftOf)) / 16],
  ['sm, token scope', oakenSmToken, (middle) => Math.max(0, ...middle.map(shiftOf)) / 16],
  // Minimum and maximum: half a step, the f16 rounding of 15 steps, and the side rule's 2^-14.
  [
    'mm',
    oakenMm,
    (middle) => (middle.length === 0 ? 0 : span(middle) * (1 / 30 + 2 ** -11) + 2 ** -14),
  ],
])('%s', (_name, scheme, boundOfMiddle) => {
  test.each(input.tokens.map(({ name }, index) => [name, index] as const))(
    '%s',
    async (_token, index) => {
      const decoded = (await (await pack(scheme)).materialize()).value;
      const { values } = input.tokens[index]!;
      const bound = boundOfMiddle(values.filter((x) => !isOuter(x) && !isInner(x)));
      for (const [channel, x] of values.entries()) {
        const actual = decoded[index * headDim + channel]!;
        if (isOuter(x) || isInner(x)) expect(actual).toBe(x);
        else expect(Math.abs(actual - x)).toBeLessThanOrEqual(bound);
        expect(Math.sign(actual)).toBe(Math.sign(x));
      }
    },
  );

  test('each element is in one band, thresholds outer and middle', async () => {
    const cache = await pack(scheme);
    const [block] = await cache.blocks('value');
    const layout = cache.plan.layers[0]!.value.layout!;
    const counts = input.tokens.map((_, i) => {
      const upTo = (count: number) => outlierCount(layout, block!.bytes, 0, count);
      return upTo(i + 1) - upTo(i);
    });
    expect(counts).toEqual([0, 64, 64, 1, 32]);
  });
});

function span(middle: readonly number[]): number {
  const shifted = middle.map((x) => (x >= innerHi ? x - innerHi : x - innerLo));
  return Math.max(...shifted) - Math.min(...shifted);
}

test('a token that overflows the block is refused, and nothing of it is stored', async () => {
  // Room for 128 outliers a block; every token here has 64 in its keys, which are all zero.
  const scheme = oaken({ reserve: 1 });
  const calibration = fixedCalibration(scheme, thresholds);
  const key = new Uint16Array(tokens * headDim);
  const cache = await DrivenCache.open(scheme, { tokens, headDim, key, value, calibration });
  await cache.append(2);
  await expect(cache.append(1)).rejects.toMatchObject({
    code: 'OUTLIER_CAPACITY',
    value: 'more than 128',
  });
  expect(cache.length).toBe(2);
});

test('keys before the rotary embedding need the embedding', async () => {
  const scheme = oaken({ stage: 'pre-rope' });
  const calibration = fixedCalibration(scheme, thresholds);
  await expect(DrivenCache.open(scheme, { tokens, headDim, calibration })).rejects.toMatchObject({
    code: 'GEOMETRY_INVALID',
    where: { layer: 0, field: 'rotary' },
  });
});
