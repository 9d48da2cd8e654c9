/**
 * Why a plan has no graphs: what the law does not execute, and what is not built here yet.
 */
import { type Plan, type TensorPlan, unexecutedFeatures } from '@lowbit-kv/core';
import { transformsOf } from './packed-plan.js';

/** One reason per field without a graph; empty when there are graphs for the whole plan. */
export function refusals(plan: Plan): string[] {
  const reasons = new Set(unexecutedFeatures(plan));
  for (const { key, value } of plan.layers)
    for (const tensor of [key, value])
      for (const reason of [...parameterRefusals(tensor), ...tensorRefusals(tensor)])
        reasons.add(`${tensor.tensor}: ${reason}`);
  return [...reasons];
}

function tensorRefusals(plan: TensorPlan): string[] {
  const reasons = plan.codec === undefined ? [] : [`the codec ${plan.codec.id} has no graph`];
  for (const step of transformsOf(plan)) {
    if ('scope' in step && step.scope === 'model')
      reasons.push(`a calibrated ${step.kind} has no graph yet`);
  }
  if (plan.scheme.bits !== 16 && plan.scheme.stage === 'pre-rope')
    reasons.push('keys before the rotary embedding have no graph yet');
  return reasons;
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
