/**
 * The plans that are timed: presets of the scheme packages, and plain schemes where a row of the table is nobody's preset.
 */
import {
  type Calibration,
  type CalibrationSample,
  createCalibration,
  createPlan,
  type Geometry,
  type Plan,
  type Scheme,
} from '@lowbit-kv/core';
import { inlineScheme, symmetric } from '@lowbit-kv/core/testing';
import { bitdecoding } from '@lowbit-kv/scheme-bitdecoding';
import { innerqBase } from '@lowbit-kv/scheme-innerq';
import { kivi, kivi2, kivi4 } from '@lowbit-kv/scheme-kivi';
import { oakenSm } from '@lowbit-kv/scheme-oaken';
import { drawnKeys, drawnValues } from './drawn-data.js';

export interface PlanEntry {
  readonly name: string;
  readonly scheme: Scheme;
  /** Of the table that the kernels are held to; the others belong to the survey. */
  readonly inTable: boolean;
}

export const HEAD_DIM = 128;
export const KV_HEADS = 8;
const CALIBRATION_TOKENS = 512;

const innerWindow = { recent: 96, flush: 32 };
const innerAxes = inlineScheme({
  key: symmetric(4, 'fullSigned', 'channels', 32, innerWindow),
  value: symmetric(4, 'fullSigned', 'tokens', 32, innerWindow),
  sinks: 32,
});
const halves = inlineScheme({ key: { bits: 16 }, value: { bits: 16 } });

const entry = (inTable: boolean, scheme: Scheme, name = scheme.id): PlanEntry => ({
  name,
  scheme,
  inTable,
});

export const PLANS: readonly PlanEntry[] = [
  entry(true, kivi({ bits: 4, groupSize: 128 })),
  entry(true, kivi4),
  entry(true, kivi({ bits: 2, groupSize: 128 })),
  entry(true, kivi2),
  entry(true, innerAxes, 'innerq-axes-4bit'),
  entry(true, innerqBase),
  entry(true, halves, 'f16'),
  entry(true, oakenSm),
  entry(false, bitdecoding({ bits: 4, keys: 'kc' })),
  entry(false, bitdecoding({ bits: 4, keys: 'kc', groupSize: 32 })),
  entry(false, bitdecoding({ bits: 2, keys: 'kc' })),
  entry(false, bitdecoding({ bits: 2, keys: 'kc', residualBlock: 128 })),
];

/** The plan of `layers` layers, calibrated on drawn data where the scheme asks for that. */
export async function planOf(
  { scheme }: PlanEntry,
  layers: number,
  queryHeads: number,
): Promise<Plan> {
  const geometry: Geometry = {
    layers,
    queryHeads,
    kvHeads: KV_HEADS,
    keyHeadDim: HEAD_DIM,
    valueHeadDim: HEAD_DIM,
  };
  if (scheme.calibration.kind !== 'offline') return createPlan(scheme, geometry);
  return createPlan(scheme, geometry, { calibration: await calibrated(scheme, layers) });
}

async function calibrated(scheme: Scheme, layers: number): Promise<Calibration> {
  const shape = [CALIBRATION_TOKENS, KV_HEADS, HEAD_DIM];
  const key = Float32Array.from(drawnKeys(shape, 1, 'f32'));
  const value = Float32Array.from(drawnValues(shape, 2, 'f32'));
  async function* samples(): AsyncIterable<CalibrationSample> {
    for (let layer = 0; layer < layers; layer++)
      yield { layer, key, value, tokens: CALIBRATION_TOKENS, kvHeads: KV_HEADS };
  }
  return createCalibration(scheme, samples(), { source: 'drawn data of the benchmark' });
}
