/**
 * The parts of a tensor plan that graphs depend on.
 */
import {
  type BlockLayout,
  isCalibrated,
  isMeasured,
  type MeasuredTransform,
  type PageClass,
  type Plan,
  type QuantizedTensorScheme,
  type TensorCalibration,
  type TensorPlan,
  transformsOf,
} from '@lowbit-kv/core';

/** A tensor plan that is packed. */
export interface PackedPlan extends TensorPlan {
  readonly scheme: QuantizedTensorScheme;
  readonly layout: BlockLayout;
}

export function isPacked(plan: TensorPlan): plan is PackedPlan {
  return plan.layout !== null;
}

/** One plane `[heads, headDim]` of a statistics page each. */
export function measuredTransforms(plan: TensorPlan): MeasuredTransform[] {
  return transformsOf(plan).filter(isMeasured);
}

/** What calibrated transforms take from the calibration; null without any. */
export function calibratedTransformValues(plan: TensorPlan): Partial<TensorCalibration> | null {
  if (!transformsOf(plan).some(isCalibrated)) return null;
  const { thresholds, levels, ...values } = plan.calibration ?? {};
  return values;
}

/** How many tokens they are measured on. */
export function statisticsTokens(plan: Plan, tensor: TensorPlan): number {
  return (plan.classes[tensor.class] as PageClass).statisticsTokens;
}

export function hasBands(plan: PackedPlan): boolean {
  return plan.scheme.outliers?.kind === 'bands';
}

/** `[outerLow, outerHigh, innerLow, innerHigh]`: what the `thresholds` inputs take. */
export function thresholdsOf(plan: TensorPlan): Float32Array {
  const edges = plan.calibration?.thresholds;
  if (edges === undefined) throw new TypeError('a plan with outlier bands has thresholds');
  return Float32Array.of(edges.outerLow, edges.outerHigh, edges.innerLow, edges.innerHigh);
}
