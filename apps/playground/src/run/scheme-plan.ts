/** Plans of a scheme: of the layer in view, and of the whole model for its memory. */
import { createPlan, type Plan, type Scheme } from '@lowbit-kv/core';
import {
  type CaptureSizes,
  type LayerTensors,
  positionOf,
  prefillCalibration,
  resolveCalibration,
  schemeForReplay,
  stretchCalibration,
} from '@lowbit-kv/harness/browser';
import type { Dataset } from '../data/dataset.js';

export interface SchemePlans {
  /** One layer: the one in view. */
  readonly layer: Plan;
  /** All layers of the model; calibrated values are those of the layer in view, which sizes do not depend on. */
  readonly model: Plan;
}

/** Throws what planning and calibrating throw. */
export async function planScheme(
  scheme: Scheme,
  data: Dataset,
  layer: LayerTensors,
): Promise<SchemePlans> {
  const places = { captured: [layer.index], modelLayers: data.modelLayers };
  const replayed = schemeForReplay(scheme, places);
  const source = prefillCalibration({ sizes: data.sizes, layers: [layer] });
  const resolved = await resolveCalibration(scheme, replayed, places, undefined, source);
  const whole = { ...data.geometry, layers: data.modelLayers };
  if (resolved === null) {
    return {
      layer: createPlan(replayed, data.geometry),
      model: createPlan(scheme, whole),
    };
  }
  const { calibration } = resolved;
  return {
    layer: createPlan(replayed, data.geometry, { calibration }),
    model: createPlan(scheme, whole, {
      calibration: stretchCalibration(calibration, scheme, places),
    }),
  };
}

/** The first tokens, up to the first kept query: what schemes are calibrated on here. */
export function calibrationTokens(sizes: CaptureSizes): number {
  return positionOf(sizes, 0) || sizes.tokens;
}
