/**
 * A plan as the model sees it: layers, each with the units that its kv heads are split into.
 */
import type { LayerGeometry } from '../geometry.js';
import type { LayerPlan, Plan } from './plan.js';

export interface ModelLayer {
  readonly layer: number;
  /** Of the whole layer. */
  readonly geometry: LayerGeometry;
  /** One, unless overrides name single heads. Together they have every kv head once. */
  readonly units: readonly LayerUnit[];
}

export interface LayerUnit {
  /** Index into `Plan.layers`: what jobs of a backend call their layer. */
  readonly index: number;
  readonly plan: LayerPlan;
}

/** One entry per layer of the model, in order. */
export function modelLayers(plan: Plan): ModelLayer[] {
  const layers: (ModelLayer & { readonly units: LayerUnit[] })[] = [];
  for (const [index, unit] of plan.layers.entries()) {
    const known = layers[unit.layer];
    if (known === undefined)
      layers.push({ layer: unit.layer, geometry: unit.geometry, units: [{ index, plan: unit }] });
    else known.units.push({ index, plan: unit });
  }
  return layers.map(({ layer, geometry, units }) => {
    const sum = (heads: 'kvHeads' | 'queryHeads') =>
      units.reduce((total, { plan: unit }) => total + unit.geometry[heads], 0);
    return {
      layer,
      geometry: { ...geometry, kvHeads: sum('kvHeads'), queryHeads: sum('queryHeads') },
      units,
    };
  });
}
