/**
 * Why a plan has no graphs, or not for all of it: what the law does not execute, what is not built here yet, and what runs
 * on the host instead.
 */
import { type Plan, type TensorPlan, unexecutedFeatures } from '@lowbit-kv/core';

/** One reason per field that is not executed at all; empty when the whole plan is. */
export function refusals(plan: Plan): string[] {
  return [...new Set([...unexecutedFeatures(plan), ...tensorReasons(plan, tensorRefusals)])];
}

/** One reason per codec: its functions run on the host, attention in graphs. Empty when there are graphs for everything. */
export function emulations(plan: Plan): string[] {
  return tensorReasons(plan, ({ codec }) =>
    codec === undefined
      ? []
      : [`the codec ${codec.id} has no graph; its functions run on the host`],
  );
}

function tensorReasons(plan: Plan, reasonsOf: (tensor: TensorPlan) => string[]): string[] {
  const reasons = new Set<string>();
  for (const { key, value } of plan.layers)
    for (const tensor of [key, value])
      for (const reason of reasonsOf(tensor)) reasons.add(`${tensor.tensor}: ${reason}`);
  return [...reasons];
}

function tensorRefusals({ scheme }: TensorPlan): string[] {
  if (scheme.bits === 16 || scheme.stage !== 'pre-rope') return [];
  return ['keys before the rotary embedding have no graph yet'];
}
