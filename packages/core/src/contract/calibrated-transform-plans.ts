/**
 * Calibrated transforms for the plans of `describeBackend`: each kind in both tensors, and beside measured ones.
 */
import type { ChannelOrder, Transform } from '../scheme.js';
import { asymmetric, bands, symmetric } from '../testing/inline-schemes.js';
import type { TransformParts } from './transform-plans.js';

const SCALE = { kind: 'channelScale', scope: 'model' } as const;
const MEAN = { kind: 'channelMean', scope: 'model' } as const;
const TENSOR_SCALE = { kind: 'tensorScale', scope: 'model' } as const;
const ORDER: ChannelOrder = { kind: 'channelOrder', scope: 'model' };
const MEASURED_MEAN = { kind: 'channelMean', scope: 'sequence', statisticsTokens: 24 } as const;

export function calibratedParts(): TransformParts[] {
  const keys = (...transforms: Transform[]) => ({ ...asymmetric(3, 'tokens', 16), transforms });
  const values = (...transforms: Transform[]) => ({
    ...symmetric(4, 'signmag', 'channels', 16, { recent: 8, flush: 4 }),
    transforms,
  });
  return [
    { name: 'calibrated channel scales', key: keys(SCALE), value: values(SCALE), sinks: 2 },
    { name: 'calibrated channel means', key: keys(MEAN), value: values(MEAN) },
    { name: 'calibrated tensor scales', key: keys(TENSOR_SCALE), value: values(TENSOR_SCALE) },
    {
      name: 'channel orders',
      key: { ...asymmetric(3, 'channels', 16), transforms: [ORDER] },
      value: values(ORDER),
      sinks: 1,
    },
    {
      name: 'calibrated and measured transforms in a row',
      key: keys(MEAN, ORDER, MEASURED_MEAN, SCALE),
      value: values({ kind: 'hadamard', seed: 3 }, SCALE, ORDER, MEASURED_MEAN, TENSOR_SCALE),
      packing: 'after-attention',
    },
    {
      name: 'outlier bands of calibrated values',
      key: { ...bands('midRise', 'head'), transforms: [MEAN, TENSOR_SCALE] },
      value: { ...bands('uniform', 'allHeads'), transforms: [ORDER, SCALE] },
    },
  ];
}
