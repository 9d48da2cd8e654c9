/**
 * The golden snapshot: sequences with everything a container can hold (sinks, packed blocks of three kinds, a short block
 * in the middle, f16 tails, statistics, shared pages, an f16 layer).
 */
import {
  type Cache,
  type Calibration,
  createCache,
  createPlan,
  f16Tensor,
  type LayerInput,
  type Plan,
  referenceBackend,
  type Scheme,
  type Sequence,
  schemeFingerprint,
} from '../src/index.js';
import { lcgNormal } from '../src/testing/index.js';

const DIM = 16;
const GEOMETRY = { layers: 3, queryHeads: 2, kvHeads: 1, keyHeadDim: DIM, valueHeadDim: DIM };
const THRESHOLDS = { outerLow: -1.5, outerHigh: 1.5, innerLow: -0.125, innerHigh: 0.125 };

const SCHEME: Scheme = {
  specVersion: 1,
  id: 'golden-snapshot',
  title: 'Golden snapshot',
  sinks: 4,
  packing: 'before-attention',
  key: {
    bits: 3,
    groups: { along: 'channels', size: 16 },
    quantizer: { mode: 'symmetric', codes: 'signmag' },
    parameters: { scale: 'f16' },
    window: { recent: 8, flush: 1 },
    transforms: [
      {
        kind: 'channelScale',
        scope: 'sequence',
        statistic: 'rootAbsoluteMaximum',
        statisticsTokens: 8,
        clamp: [2 ** -6, 2 ** 6],
        minimumSpread: 1.2,
      },
    ],
  },
  value: {
    bits: 4,
    groups: { along: 'vector', scope: 'head' },
    quantizer: { mode: 'symmetric', codes: 'midRise' },
    parameters: { scale: 'f16' },
    window: { recent: 8, flush: 4 },
    outliers: {
      kind: 'bands',
      shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
      groupShift: true,
      outlierBits: 5,
      storage: { format: 'coo64', reserve: 16 },
    },
  },
  overrides: [
    {
      layers: [1],
      key: {
        bits: 2,
        groups: { along: 'tokens', size: 8 },
        quantizer: { mode: 'asymmetric', codes: 'uniform' },
        parameters: { scale: 'f16', zero: 'f16' },
        window: { recent: 8, flush: 8 },
      },
    },
    { layers: [-1], key: { bits: 16 } },
  ],
  calibration: { kind: 'offline', values: ['thresholds'] },
};

export function snapshotPlan(): Plan {
  const calibration: Calibration = {
    specVersion: 1,
    scheme: schemeFingerprint(SCHEME),
    provenance: { source: 'golden files' },
    layers: Array.from({ length: GEOMETRY.layers }, () => ({ value: { thresholds: THRESHOLDS } })),
  };
  return createPlan(SCHEME, GEOMETRY, { calibration, blockTokens: 16 });
}

export async function snapshotCache(): Promise<Cache> {
  return createCache(snapshotPlan(), referenceBackend(), {
    capacity: { tokens: 256, sequences: 4 },
  });
}

/** Generated K and V of every layer for `tokens` new tokens. */
function layerInputs(tokens: number, seed: number): LayerInput[] {
  const shape = [tokens, 1, DIM];
  const tensor = (offset: number, channelOps: { channel: number; mul: number; add: number }[]) =>
    f16Tensor(lcgNormal({ seed: seed + offset, shape, dtype: 'f16', channelOps }), shape);
  const outlierChannel = [{ channel: 5, mul: 9, add: 0 }];
  return [
    { key: tensor(0, outlierChannel), value: tensor(1, []) },
    { key: tensor(2, []), value: tensor(3, []) },
    { key: tensor(4, []), value: tensor(5, []) },
  ];
}

/** The sequences of the snapshot: one cut inside a block and continued, its fork, and a short one. */
export async function snapshotSequences(cache: Cache): Promise<Sequence[]> {
  const first = cache.createSequence();
  await cache.append([{ sequence: first, tokens: 45 }], layerInputs(45, 1000));
  cache.truncate(first, 30);
  await cache.append([{ sequence: first, tokens: 14 }], layerInputs(14, 1010));
  const fork = cache.fork(first);
  await cache.append([{ sequence: fork, tokens: 5 }], layerInputs(5, 1020));
  const short = cache.createSequence();
  await cache.append([{ sequence: short, tokens: 3 }], layerInputs(3, 1030));
  return [first, fork, short];
}

/** f32 keys, then values, of every layer of every sequence, as attention sees them. */
export async function decodedSequences(cache: Cache, sequences: readonly Sequence[]) {
  const parts: Float32Array[] = [];
  for (const sequence of sequences) {
    for (const layer of cache.plan.layers) {
      const { key, value } = await cache.materialize(sequence, layer.layer);
      parts.push(key.data as Float32Array, value.data as Float32Array);
    }
  }
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
