/**
 * The parts of a tensor plan that graphs depend on.
 */
import type { BlockLayout, ChannelScale, QuantizedTensorScheme, TensorPlan } from '@lowbit-kv/core';

/** A tensor plan that is packed. */
export interface PackedPlan extends TensorPlan {
  readonly scheme: QuantizedTensorScheme;
  readonly layout: BlockLayout;
}

export type SequenceChannelScale = Extract<ChannelScale, { scope: 'sequence' }>;

export function isPacked(plan: TensorPlan): plan is PackedPlan {
  return plan.layout !== null;
}

/** The channel scale that the sequence itself supplies, if the plan has one. */
export function channelScaleOf(plan: TensorPlan): SequenceChannelScale | undefined {
  if (plan.scheme.bits === 16) return undefined;
  return plan.scheme.transforms?.find((transform): transform is SequenceChannelScale => {
    return transform.kind === 'channelScale' && transform.scope === 'sequence';
  });
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
