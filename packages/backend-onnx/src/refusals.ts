/**
 * Why a plan has no graphs: what the law does not execute, and what is not built here yet.
 */
import { type Plan, type TensorPlan, unexecutedFeatures } from '@lowbit-kv/core';

/** One reason per field without a graph; empty when there are graphs for the whole plan. */
export function refusals(plan: Plan): string[] {
  const reasons = new Set(unexecutedFeatures(plan));
  for (const { key, value } of plan.layers)
    for (const tensor of [key, value])
      for (const reason of tensorRefusals(tensor)) reasons.add(`${tensor.tensor}: ${reason}`);
  return [...reasons];
}

function tensorRefusals(plan: TensorPlan): string[] {
  const reasons = plan.codec === undefined ? [] : [`the codec ${plan.codec.id} has no graph`];
  if (plan.scheme.bits !== 16 && plan.scheme.stage === 'pre-rope')
    reasons.push('keys before the rotary embedding have no graph yet');
  return reasons;
}
