// num-key-channel-outliers: the law's own error figures on keys with outlier channels.
import { describe, expect, it } from 'vitest';
import { decodeF16 } from '../../src/float16.js';
import {
  headsFirstToRagged,
  lcgNormal,
  type NormalRecipe,
  referenceAttention,
  relativeError,
} from '../../src/testing/index.js';
import { groupScheme } from '../law/support.js';
import { loadCase } from '../testing/load-case.js';
import { cacheOf, filled } from './num-support.js';

type Figures = Record<string, { relErrOut: number; cosK: number }>;
const { input, expected } = loadCase<
  Record<'K' | 'V' | 'q', NormalRecipe<'f16'>>,
  { measuredByOracle: { gaussianKeysNoOps: Figures; outlierKeys: Figures } }
>('num-key-channel-outliers');

const [, kvHeads, tokens, dim] = input.K.shape as [number, number, number, number];
const queryHeads = input.q.shape[1]!;
const ragged = (recipe: NormalRecipe<'f16'>) =>
  headsFirstToRagged(lcgNormal(recipe), { heads: kvHeads, tokens, dim });

const { channelOps: _, ...plainKeys } = input.K;
const KEYS = { gaussianKeysNoOps: ragged(plainKeys), outlierKeys: ragged(input.K) };
const values = ragged(input.V);
const queries = decodeF16(lcgNormal(input.q));

function attention(keys: Float32Array): Float64Array {
  return referenceAttention({
    keys,
    values: decodeF16(values),
    queries,
    tokens,
    queryTokens: 1,
    queryHeads,
    kvHeads,
    keyDim: dim,
    valueDim: dim,
    scale: 1 / Math.sqrt(dim),
  }).output;
}

/** Keys as the cache gives them back, groups as the name of the figure says. */
async function stored(name: string, keys: Uint16Array): Promise<Float32Array> {
  const [, along, size, bits] = /\((tokens|dims),(\d+)\) (\d)-bit/.exec(name) as RegExpExecArray;
  const scheme = groupScheme(
    Number(bits) as 2 | 4 | 8,
    along === 'tokens' ? 'tokens' : 'channels',
    Number(size),
    { mode: 'asymmetric', codes: 'uniform' },
  );
  const geometry = { layers: 1, queryHeads, kvHeads, keyHeadDim: dim, valueHeadDim: dim };
  const cache = await cacheOf(scheme, { bits: 16 }, geometry, { tokens });
  const sequence = await filled(cache, tokens, keys, values);
  return (await cache.materialize(sequence, 0)).key.data as Float32Array;
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i]! * b[i]!;
    aa += a[i]! ** 2;
    bb += b[i]! ** 2;
  }
  return dot / Math.sqrt(aa * bb);
}

const measured: Record<string, number> = {};

describe.each(['gaussianKeysNoOps', 'outlierKeys'] as const)('%s', (data) => {
  const reference = attention(decodeF16(KEYS[data]));
  it.each(Object.entries(expected.measuredByOracle[data]))('%s', async (name, figures) => {
    const keys = await stored(name, KEYS[data]);
    const error = relativeError(attention(keys), reference);
    measured[`${data} ${name}`] = error;
    expect(Math.abs(error / figures.relErrOut - 1)).toBeLessThan(0.15);
    expect(Math.abs(cosine(keys, decodeF16(KEYS[data])) - figures.cosK)).toBeLessThan(1e-3);
  });
});

it('groups along tokens are at least five times better than one group of 128 channels', () => {
  const along = measured['outlierKeys perChannel(tokens,32) 4-bit']!;
  const across = measured['outlierKeys perToken(dims,128) 4-bit']!;
  expect(across / along).toBeGreaterThan(5);
});
