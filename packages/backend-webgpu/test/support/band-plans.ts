/**
 * Plans with outlier bands whose attention meets codes in integers, by how many outliers a normal distribution has.
 */
import {
  type Calibration,
  createPlan,
  type Geometry,
  type Plan,
  type Scheme,
} from '@lowbit-kv/core';
import { bands, inlineCalibration, inlineScheme, type SchemeParts } from '@lowbit-kv/core/testing';

export const BAND_WINDOW = { recent: 8, flush: 4 };

export const BANDS: SchemeParts = {
  key: bands('midRise', 'head', 24),
  value: bands('midRise', 'head', 24, BAND_WINDOW),
  sinks: 3,
};

/** A page has room for lines of about a seventh. */
const EDGES = {
  /** A tenth. */
  usual: { outerLow: -2.5, outerHigh: 1.75, innerLow: -0.0625, innerHigh: 0.09375 },
  /** A quarter. */
  crowded: { outerLow: -1.5, outerHigh: 1.5, innerLow: -0.125, innerHigh: 0.1875 },
  none: { outerLow: -60000, outerHigh: 60000, innerLow: 0.5, innerHigh: 0.5 },
} as const;

/** Three query heads on each of two kv heads: rows of a workgroup are not all known. */
export const INTEGER_GEOMETRY = {
  layers: 1,
  queryHeads: 6,
  kvHeads: 2,
  keyHeadDim: 128,
  valueHeadDim: 128,
};

export function bandPlan(edges: keyof typeof EDGES, parts = BANDS): Plan {
  const scheme = inlineScheme(parts);
  const calibration = bandCalibration(scheme, INTEGER_GEOMETRY, edges);
  if (calibration === undefined) throw new Error('bands are calibrated');
  return createPlan(scheme, INTEGER_GEOMETRY, { blockTokens: 128, calibration });
}

/** Undefined where the scheme has no bands. */
export function bandCalibration(
  scheme: Scheme,
  geometry: Geometry,
  edges: keyof typeof EDGES,
): Calibration | undefined {
  const calibration = inlineCalibration(scheme, geometry);
  if (calibration === undefined) return undefined;
  const { innerLow, ...others } = EDGES[edges];
  const layers = calibration.layers.map(() => ({
    key: { thresholds: EDGES[edges] },
    // Sides of another distance.
    value: { thresholds: { ...others, innerLow: innerLow - 0.0625 } },
  }));
  return { ...calibration, layers };
}
