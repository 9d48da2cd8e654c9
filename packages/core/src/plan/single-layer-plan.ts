/**
 * The plan of one layer by itself, for looking at what a cache stores of it without running the whole model.
 */
import { LowbitKvError } from '../errors.js';
import { fingerprint } from '../fingerprint.js';
import { deepFreeze } from '../scheme-schema.js';
import type { LayerPlan, PageClass, Plan, TensorPlan } from './plan.js';

/**
 * A plan of one layer, number 0, that packs the same tokens into the same bytes as layer `layer` of `plan`; sliding
 * windows evict nothing, so that what earlier queries saw can still be read. Throws OPTION_INVALID for a layer that does
 * not exist.
 */
export function singleLayerPlan(plan: Plan, layer: number): Plan {
  const units = plan.layers.filter((unit) => unit.layer === layer);
  if (units.length === 0) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'no such layer',
      value: layer,
      valid: `0 to ${plan.layers.at(-1)?.layer}`,
      next: 'Use the layer numbers of the geometry.',
    });
  }
  const used = [...new Set(units.flatMap(({ key, value }) => [key.class, value.class]))];
  const inClass = (tensor: TensorPlan): TensorPlan => ({
    ...tensor,
    class: used.indexOf(tensor.class),
  });
  const calibration = plan.calibration?.layers[layer];
  return deepFreeze({
    planVersion: 1,
    scheme: plan.scheme,
    layers: units.map(
      (unit): LayerPlan => ({
        ...unit,
        layer: 0,
        geometry: { ...unit.geometry, slidingWindow: null },
        key: inClass(unit.key),
        value: inClass(unit.value),
      }),
    ),
    classes: used.map(
      (index): PageClass => ({
        ...(plan.classes[index] as PageClass),
        slidingWindow: null,
        layers: [0],
      }),
    ),
    calibration:
      plan.calibration === null
        ? null
        : { ...plan.calibration, layers: calibration === undefined ? [] : [calibration] },
    fingerprint: fingerprint({ plan: plan.fingerprint, layer }),
  });
}
