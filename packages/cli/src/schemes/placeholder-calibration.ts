/**
 * Calibrated values that mean nothing: sizes do not depend on them, but a plan does not exist without them.
 */
import {
  type Calibration,
  type Geometry,
  resolveGeometry,
  type Scheme,
  schemeFingerprint,
  type TensorCalibration,
} from '@lowbit-kv/core';

/** Every value a scheme can ask for, of the right shape; null when it asks for none. */
export function placeholderCalibration(scheme: Scheme, geometry: Geometry): Calibration | null {
  if (scheme.calibration.kind !== 'offline') return null;
  return {
    specVersion: 1,
    scheme: schemeFingerprint(scheme),
    provenance: { purpose: 'sizes only' },
    layers: resolveGeometry(geometry).map(({ kvHeads, keyHeadDim, valueHeadDim }) => ({
      key: placeholders(kvHeads, keyHeadDim),
      value: placeholders(kvHeads, valueHeadDim),
    })),
  };
}

function placeholders(heads: number, headDim: number): Required<TensorCalibration> {
  const channels = (value: (channel: number) => number) =>
    Array.from({ length: heads }, () => Array.from({ length: headDim }, (_, c) => value(c)));
  return {
    thresholds: { outerLow: -2, innerLow: -1, innerHigh: 1, outerHigh: 2 },
    levels: [0, 1],
    tensorFactor: 1,
    channelFactors: channels(() => 1),
    channelMeans: channels(() => 0),
    channelOrder: channels((channel) => channel),
  };
}
