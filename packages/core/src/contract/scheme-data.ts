/**
 * Generated keys and values for the checks of schemes: normal, with one loud channel, different in every layer and tensor.
 */
import { decodeF16 } from '../float16.js';
import { type Geometry, resolveGeometry } from '../geometry.js';
import type { TensorPlan } from '../plan/plan.js';
import type { CalibrationSample } from '../scheme.js';
import { lcgNormal } from '../testing/normal.js';

/** What a tensor plan and a calibration both know of a tensor. */
export type TensorShape = Pick<TensorPlan, 'tensor' | 'heads' | 'headDim' | 'headNumbers'>;

/** A number of its own for each tensor of a plan: layers, and heads of one layer, must not hold equal data. */
export function placeOf({ headNumbers: [first = 0] = [] }: TensorShape, layer: number): number {
  return layer + 100 * first;
}

const CALIBRATION_TOKENS = 64;

/** f16 bits `[tokens, heads, headDim]`. */
export function normalRows(
  shape: TensorShape,
  layer: number,
  tokens: number,
  seed = 0,
): Uint16Array {
  const { tensor, heads, headDim } = shape;
  return lcgNormal({
    seed: 1 + seed * 1000 + placeOf(shape, layer) * 2 + (tensor === 'key' ? 0 : 1),
    shape: [tokens, heads, headDim],
    dtype: 'f16',
    channelOps: [{ channel: (3 + layer) % headDim, mul: 4, add: 0 }],
  });
}

/** Samples of every layer, drawn as the data of the checks is. */
export async function* measurementSamples(geometry: Geometry): AsyncIterable<CalibrationSample> {
  for (const [layer, shape] of resolveGeometry(geometry).entries()) {
    const { kvHeads, keyHeadDim, valueHeadDim } = shape;
    const drawn = (tensor: 'key' | 'value', headDim: number) =>
      decodeF16(normalRows({ tensor, heads: kvHeads, headDim }, layer, CALIBRATION_TOKENS, 9));
    yield {
      layer,
      tokens: CALIBRATION_TOKENS,
      kvHeads,
      key: drawn('key', keyHeadDim),
      value: drawn('value', valueHeadDim),
    };
  }
}
