/**
 * Plans of a benchmark, calibrated on the data that it draws, and the bytes that they make a layer move.
 */
import {
  type Calibration,
  type CalibrationSample,
  createCalibration,
  createPlan,
  decodeF16,
  type Geometry,
  modelLayers,
  type PageClass,
  type Plan,
  planBytes,
  type Scheme,
  type TensorPlan,
} from '@lowbit-kv/core';
import { drawnRows } from './drawn-rows.js';
import type { BenchShape } from './report.js';

const CALIBRATION_TOKENS = 512;
/** Beyond every window, and whole blocks. */
const MANY_TOKENS = 8192;
const F16_BYTES = 2;
const F32_BYTES = 4;

/** Calibrated values for schemes that cannot measure them; null for none. */
export type CalibrationOf = (scheme: Scheme, geometry: Geometry) => Calibration | null;

/** A plan of at least `layers` layers: as many more as overrides of the scheme name. Throws what `createPlan` throws. */
export async function benchPlan(
  scheme: Scheme,
  { queryHeads, kvHeads, headDim }: BenchShape,
  layers: number,
  calibrationOf: CalibrationOf,
): Promise<Plan> {
  const geometry: Geometry = {
    layers: Math.max(layers, namedLayers(scheme)),
    queryHeads,
    kvHeads,
    keyHeadDim: headDim,
    valueHeadDim: headDim,
    // For keys that are cached before the embedding; others do not meet it.
    rotary: { pairs: 'halves' },
  };
  const calibration = await calibrated(scheme, geometry, calibrationOf);
  return createPlan(scheme, geometry, calibration === null ? {} : { calibration });
}

function namedLayers({ overrides = [] }: Scheme): number {
  const numbers = overrides.flatMap(({ layers }) => layers);
  return Math.max(1, ...numbers.map((number) => (number < 0 ? -number : number + 1)));
}

async function calibrated(
  scheme: Scheme,
  geometry: Geometry,
  calibrationOf: CalibrationOf,
): Promise<Calibration | null> {
  if (scheme.calibration.kind !== 'offline') return null;
  if (scheme.calibrate === undefined) return calibrationOf(scheme, geometry);
  const { layers, kvHeads, keyHeadDim: headDim } = geometry;
  const rows = (seed: number) =>
    decodeF16(drawnRows({ rows: CALIBRATION_TOKENS, heads: kvHeads, headDim, seed }));
  const sample = { key: rows(1), value: rows(2), tokens: CALIBRATION_TOKENS, kvHeads };
  async function* samples(): AsyncIterable<CalibrationSample> {
    for (let layer = 0; layer < layers; layer++) yield { layer, ...sample };
  }
  return createCalibration(scheme, samples(), { source: 'drawn data of the benchmark' });
}

/** Of one layer (the mean of those of a plan): what sequences of these lengths hold, without padding. */
export function heldBytes(plan: Plan, lengths: readonly number[]): number {
  const bytes = lengths.reduce((sum, length) => {
    const { codes, parameters, outliers, windows, statistics } = planBytes(plan, length);
    return sum + codes + parameters + outliers.expected + windows + statistics;
  }, 0);
  return bytes / layersOf(plan);
}

/** Rows in, and what a prompt of so many tokens becomes. */
export function packBytes(plan: Plan, tokens: number): number {
  return Math.round(tokens * rowBytes(plan) + heldBytes(plan, [tokens]));
}

/** Rows in, and what they become over time; a token that waits before it is packed is written and read in f16 besides. */
export function appendBytes(plan: Plan, { batch, tokens }: BenchShape): number {
  const stored =
    (heldBytes(plan, [2 * MANY_TOKENS]) - heldBytes(plan, [MANY_TOKENS])) / MANY_TOKENS;
  const waiting =
    2 *
    rowBytes(plan, ({ layout, class: index }) => {
      const { recent, flush } = plan.classes[index] as PageClass;
      return layout !== null && (recent > 0 || flush > tokens);
    });
  return Math.round(batch * tokens * (rowBytes(plan) + waiting + stored));
}

/** What is held, queries in and outputs out. */
export function attendBytes(plan: Plan, lengths: readonly number[], shape: BenchShape): number {
  const elements = shape.batch * shape.tokens * shape.queryHeads * shape.headDim;
  return Math.round(heldBytes(plan, lengths) + elements * (F16_BYTES + F32_BYTES));
}

/** One token of one layer in f16, of the tensors that `which` takes. */
function rowBytes(plan: Plan, which: (tensor: TensorPlan) => boolean = () => true): number {
  const tensors = plan.layers.flatMap(({ key, value }) => [key, value]).filter(which);
  const elements = tensors.reduce((sum, { heads, headDim }) => sum + heads * headDim, 0);
  return (elements * F16_BYTES) / layersOf(plan);
}

/** Layers of the model; those of a plan may be parts of one. */
export function layersOf(plan: Plan): number {
  return modelLayers(plan).length;
}
