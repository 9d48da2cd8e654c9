/**
 * Plans that are drawn: shipped presets on a model of a common shape.
 */
import {
  createPlan,
  type Geometry,
  type PageClass,
  type Plan,
  type Scheme,
  type TensorPlan,
} from '@lowbit-kv/core';
import { builtinSchemes } from '../../../packages/cli/src/schemes/builtin-schemes.js';
import { placeholderCalibration } from '../../../packages/cli/src/schemes/placeholder-calibration.js';

/** As in the examples of the READMEs; few layers are enough for sizes. */
const GEOMETRY: Geometry = {
  layers: 2,
  queryHeads: 32,
  kvHeads: 8,
  keyHeadDim: 128,
  valueHeadDim: 128,
  rotary: { pairs: 'halves' },
};

export type Presets = ReadonlyMap<string, Scheme>;

export async function shippedPresets(): Promise<Presets> {
  return new Map((await builtinSchemes()).map(({ scheme }) => [scheme.id, scheme]));
}

export interface DrawnTensor {
  readonly name: 'keys' | 'values';
  readonly plan: TensorPlan;
  readonly rule: PageClass;
}

/** Keys and values of the first layer. */
export function drawnTensors(scheme: Scheme): readonly [keys: DrawnTensor, values: DrawnTensor] {
  const plan = drawnPlan(scheme);
  const unit = plan.layers[0] as Plan['layers'][number];
  const drawn = (name: DrawnTensor['name'], tensor: TensorPlan): DrawnTensor => ({
    name,
    plan: tensor,
    rule: plan.classes[tensor.class] as PageClass,
  });
  return [drawn('keys', unit.key), drawn('values', unit.value)];
}

export function drawnPlan(scheme: Scheme): Plan {
  const calibration = placeholderCalibration(scheme, GEOMETRY);
  return createPlan(scheme, GEOMETRY, calibration === null ? {} : { calibration });
}
