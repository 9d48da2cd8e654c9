/**
 * Why a plan has no graphs: what the law does not execute, and what is not built here yet.
 */
import { type Plan, type TensorPlan, unexecutedFeatures } from '@lowbit-kv/core';

/** One reason per field without a graph; empty when there are graphs for the whole plan. */
export function refusals(plan: Plan): string[] {
  const reasons = new Set(unexecutedFeatures(plan));
  for (const { key, value } of plan.layers)
    for (const tensor of [key, value])
      for (const reason of [...parameterRefusals(tensor), ...transformRefusals(tensor)])
        reasons.add(`${tensor.tensor}: ${reason}`);
  return [...reasons];
}

/** The graphs store f16 scales, and zeros of uniform codes. */
function parameterRefusals({ scheme }: TensorPlan): string[] {
  if (scheme.bits === 16) return [];
  const { codes, mode } = scheme.quantizer;
  const reasons = Object.entries(scheme.parameters)
    .filter(([, type]) => type !== 'f16')
    .map(([name, type]) => `${name} parameters of type ${type} have no graph yet`);
  if (typeof codes === 'object' && (mode === 'asymmetric' || codes.scaledBy === 'none'))
    reasons.push('level tables with a zero or without a scale have no graph yet');
  return reasons;
}

/** The graphs fold one channel scale into the query of the keys. */
function transformRefusals({ tensor, scheme }: TensorPlan): string[] {
  if (scheme.bits === 16) return [];
  const transforms = scheme.transforms ?? [];
  const reasons = transforms
    .filter(({ kind }) => kind !== 'channelScale')
    .map(({ kind }) => `the transform ${kind} has no graph yet`);
  if (transforms.some((step) => step.kind === 'channelScale' && step.scope === 'model'))
    reasons.push('a calibrated channel scale has no graph yet');
  if (scheme.stage === 'pre-rope')
    reasons.push('keys before the rotary embedding have no graph yet');
  if (tensor === 'value' && transforms.some(({ kind }) => kind === 'channelScale'))
    reasons.push('a channel scale of values has no graph yet');
  if (transforms.length > 1) reasons.push('more than one transform has no graph yet');
  return reasons;
}
