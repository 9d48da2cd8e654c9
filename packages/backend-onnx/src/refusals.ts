/**
 * Why a plan has no graphs: what the law does not execute.
 */
import { type Plan, unexecutedFeatures } from '@lowbit-kv/core';

/** One reason per field without a graph; empty when there are graphs for the whole plan. */
export function refusals(plan: Plan): string[] {
  return unexecutedFeatures(plan);
}
