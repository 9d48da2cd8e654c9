/**
 * Keys that are cached before the rotary embedding, for the plans of `describeBackend`: both layouts of pairs, part of the
 * channels, transforms that do not commute with it, sliding windows, layers that differ.
 */
import type { QuantizedTensorScheme, Transform } from '../scheme.js';
import { asymmetric, bands, symmetric } from '../testing/inline-schemes.js';
import type { TransformParts } from './transform-plans.js';

const keys = asymmetric(3, 'tokens', 16, { recent: 8, flush: 16 });
const values = symmetric(4, 'signmag', 'channels', 32, { recent: 8, flush: 4 });
const measured = { scope: 'sequence', statisticsTokens: 24 } as const;

/** Lives through everything that a cache does. */
export const PRE_ROPE: TransformParts = {
  name: 'transformed keys before the rotary embedding',
  key: before(
    keys,
    { kind: 'channelMean', ...measured },
    { kind: 'hadamard', seed: 11 },
    { kind: 'channelOrder', scope: 'model' },
    { kind: 'tensorScale', ...measured, largest: 6 },
  ),
  value: { ...values, transforms: [{ kind: 'hadamard' }] },
  sinks: 2,
  change: { rotary: { pairs: 'halves', frequencies: [1, 0.5, 0.3, 0.01] } },
};

function before(tensor: QuantizedTensorScheme, ...transforms: Transform[]) {
  return { ...tensor, transforms, stage: 'pre-rope' as const };
}

export function preRopeParts(): TransformParts[] {
  return [
    {
      name: 'keys before the rotary embedding, in halves',
      key: before(keys),
      value: values,
      sinks: 3,
      change: { rotary: { pairs: 'halves' } },
    },
    {
      name: 'keys before the rotary embedding, adjacent pairs of a part',
      key: before(keys),
      value: values,
      packing: 'after-attention',
      change: { rotary: { pairs: 'adjacent', dimensions: 24, base: 500 }, softCap: 8 },
    },
    {
      name: 'outlier bands before the rotary embedding, behind a sliding window',
      key: before(bands('midRise', 'allHeads')),
      value: values,
      sinks: 1,
      change: {
        queryHeads: 9,
        kvHeads: 3,
        rotary: { pairs: 'halves' },
        slidingWindow: { size: 37, sinks: 2 },
      },
    },
    {
      name: 'embeddings that differ by layer',
      key: before(symmetric(4, 'full', 'channels', 16)),
      value: values,
      change: {
        layers: 3,
        rotary: { pairs: 'halves', base: 1e6 },
        layerOverrides: [{ layers: [1], rotary: { pairs: 'adjacent', dimensions: 64 } }],
      },
    },
  ];
}
