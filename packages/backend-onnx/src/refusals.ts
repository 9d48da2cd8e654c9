/**
 * Why a plan has no graphs, or not for all of it: what the law does not execute, and what runs on the host instead.
 */
import { type Plan, unexecutedFeatures } from '@lowbit-kv/core';

/** One reason per field that is not executed at all; empty when the whole plan is. */
export function refusals(plan: Plan): string[] {
  return unexecutedFeatures(plan);
}

/** One reason per codec: its functions run on the host, attention in graphs. Empty when there are graphs for everything. */
export function emulations(plan: Plan): string[] {
  const reasons = new Set<string>();
  for (const { key, value } of plan.layers) {
    for (const { tensor, codec } of [key, value]) {
      if (codec !== undefined)
        reasons.add(`${tensor}: the codec ${codec.id} has no graph; its functions run on the host`);
    }
  }
  return [...reasons];
}
