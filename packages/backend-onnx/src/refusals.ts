/**
 * Why a plan has no graphs: what the law does not execute, and what is not built here yet.
 */
import { type Plan, unexecutedFeatures } from '@lowbit-kv/core';
import { transformsOf } from './packed-plan.js';

/** One reason per field without a graph; empty when there are graphs for the whole plan. */
export function refusals(plan: Plan): string[] {
  const reasons = new Set(unexecutedFeatures(plan));
  for (const layer of plan.layers) {
    for (const tensor of [layer.key, layer.value]) {
      for (const step of transformsOf(tensor)) {
        if ('scope' in step && step.scope === 'model')
          reasons.add(`${tensor.tensor}: a calibrated ${step.kind} has no graph yet`);
      }
      if (tensor.scheme.bits !== 16 && tensor.scheme.stage === 'pre-rope')
        reasons.add(`${tensor.tensor}: keys before the rotary embedding have no graph yet`);
    }
  }
  return [...reasons];
}
