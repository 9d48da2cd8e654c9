// Case cache-split-count-invariance: into how many steps, or into how many caches, tokens are split changes nothing.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  decodeF16,
  f16Tensor,
  type HostTensor,
  mergeAttention,
  type PartialAttention,
  type Scheme,
} from '../../src/index.js';
import {
  lcgNormal,
  maxAbsDifference,
  type NormalRecipe,
  referenceAttention,
} from '../../src/testing/index.js';
import { firstDifference, openCache } from '../support/pointer-cache.js';
import { channelKeys, scheme, tokenKeys } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

interface Input {
  K: NormalRecipe<'f16'>;
  V: NormalRecipe<'f16'>;
  q: NormalRecipe<'f16'>;
  splits: number[];
  lengths: number[];
  sha256: Record<'K' | 'V' | 'q', string>;
}
const { input, expected } = loadCase<Input, { referenceUnquantized_L1025_head0_first8: number[] }>(
  'cache-split-count-invariance',
);
const LIMIT = 2e-3;
const HEADS = 4;
const DIM = 64;
const keys = lcgNormal(input.K);
const values = lcgNormal(input.V);
const query = f16Tensor(lcgNormal(input.q), [1, HEADS, DIM]);
const geometry = { queryHeads: HEADS, kvHeads: 1, keyHeadDim: DIM, valueHeadDim: DIM };

const rows = (source: Uint16Array, first: number, end: number) =>
  f16Tensor(source.slice(first * DIM, end * DIM), [end - first, 1, DIM]);

/** `[first, end)` of each part; the last ones may be empty, or one token long. */
function partition(length: number, parts: number): [number, number][] {
  const size = Math.ceil(length / parts);
  return Array.from({ length: parts }, (_, i) => [
    Math.min(i * size, length),
    Math.min((i + 1) * size, length),
  ]);
}

function oracle(k: ArrayLike<number>, v: ArrayLike<number>, tokens: number) {
  return referenceAttention({
    keys: k,
    values: v,
    queries: decodeF16(query.data as Uint16Array),
    tokens,
    queryTokens: 1,
    queryHeads: HEADS,
    kvHeads: 1,
    keyDim: DIM,
    valueDim: DIM,
    scale: 1 / 8,
  });
}

interface Outcome extends PartialAttention {
  readonly key: HostTensor;
  readonly value: HostTensor;
  readonly blocks: readonly Uint8Array[];
}

async function attend(spec: Scheme, ranges: readonly [number, number][]): Promise<Outcome> {
  const tokens = ranges.reduce((sum, [first, end]) => sum + end - first, 0);
  const cache = await openCache(spec, geometry, { capacity: { tokens: tokens + 1 } });
  const sequence = cache.createSequence();
  for (const [first, end] of ranges) {
    await cache.append(
      [{ sequence, tokens: end - first }],
      [{ key: rows(keys, first, end), value: rows(values, first, end) }],
    );
  }
  const result = await cache.attend(0, query, [sequence], { logSumExp: true }).read();
  const blocks = [
    ...(await cache.exportBlocks(sequence, 0, 'key')),
    ...(await cache.exportBlocks(sequence, 0, 'value')),
  ];
  return {
    output: result.output,
    logSumExp: result.logSumExp as HostTensor,
    ...(await cache.materialize(sequence, 0)),
    blocks: blocks.map((block) => block.bytes),
  };
}

const f16 = scheme({ id: 'f16', key: { bits: 16 }, value: { bits: 16 } });
const plans: { name: string; spec: Scheme }[] = [
  { name: 'f16', spec: f16 },
  { name: 'token keys 2 bit', spec: tokenKeys({ bits: 2, residual: 32 }) },
  { name: 'channel keys 3 bit full', spec: channelKeys({ bits: 3, codes: 'full', sinks: 4 }) },
  { name: 'channel keys 3 bit fullSigned', spec: channelKeys({ bits: 3, codes: 'fullSigned' }) },
  { name: 'channel keys 4 bit hybrid', spec: channelKeys({ bits: 4, codes: 'hybrid' }) },
];

it('has the inputs of the case', () => {
  const digest = (data: Uint16Array) =>
    createHash('sha256').update(new Uint8Array(data.buffer)).digest('hex');
  expect(digest(keys)).toBe(input.sha256.K);
  expect(digest(values)).toBe(input.sha256.V);
  expect(digest(query.data as Uint16Array)).toBe(input.sha256.q);
});

describe.each(plans)('$name', ({ spec }) => {
  it.each(input.lengths)('%i tokens split into steps', async (length) => {
    const whole = await attend(spec, [[0, length]]);
    expect(
      maxAbsDifference(whole.output.data, oracle(whole.key.data, whole.value.data, length).output),
    ).toBeLessThanOrEqual(LIMIT);
    for (const splits of input.splits) {
      const parts = await attend(spec, partition(length, splits));
      expect(maxAbsDifference(parts.output.data, whole.output.data)).toBeLessThanOrEqual(LIMIT);
      expect(parts.blocks.length).toBe(whole.blocks.length);
      for (const [i, bytes] of parts.blocks.entries())
        expect(firstDifference(bytes, whole.blocks[i] as Uint8Array)).toBe(-1);
      expect(firstDifference(parts.key.data, whole.key.data)).toBe(-1);
      expect(firstDifference(parts.value.data, whole.value.data)).toBe(-1);
    }
  });
});

// Groups of one token each decode the same wherever the token lies, so disjoint caches hold the same values.
const disjoint = [
  { name: 'f16', spec: f16 },
  {
    name: '4 bit along channels',
    spec: scheme({ key: { bits: 4 }, value: { bits: 4 } }),
  },
  {
    name: '3 bit fullSigned along channels',
    spec: scheme({ key: { bits: 3, codes: 'fullSigned' }, value: { bits: 2, codes: 'full' } }),
  },
];

describe.each(disjoint)('$name', ({ spec }) => {
  it.each(input.lengths)('%i tokens split over caches and merged', async (length) => {
    const whole = await attend(spec, [[0, length]]);
    const reference = oracle(whole.key.data, whole.value.data, length);
    for (const splits of input.splits) {
      const parts: PartialAttention[] = [];
      for (const range of partition(length, splits)) parts.push(await attend(spec, [range]));
      const merged = mergeAttention(parts);
      expect(maxAbsDifference(merged.output.data, whole.output.data)).toBeLessThanOrEqual(1e-5);
      expect(maxAbsDifference(merged.output.data, reference.output)).toBeLessThanOrEqual(LIMIT);
      expect(maxAbsDifference(merged.logSumExp.data, reference.logSumExp)).toBeLessThanOrEqual(
        1e-5,
      );
    }
  });
});

it('agrees with the unquantized line of the case', async () => {
  const { output } = await attend(f16, [[0, 1025]]);
  expect(
    maxAbsDifference(output.data.subarray(0, 8), expected.referenceUnquantized_L1025_head0_first8),
  ).toBeLessThan(1e-6);
});
