/**
 * What the contract can say and the law does not execute yet: backends refuse it with these reasons.
 */
import type { Plan } from '../plan/plan.js';
import type { TensorScheme } from '../scheme.js';

/** One reason per field that is not executed; empty when the whole plan is. */
export function unexecutedFeatures(plan: Plan): string[] {
  const reasons = new Set<string>();
  for (const layer of plan.layers) {
    for (const tensor of ['key', 'value'] as const) {
      for (const reason of unexecutedTensor(layer[tensor].scheme))
        reasons.add(`${tensor}: ${reason}`);
    }
  }
  return [...reasons];
}

function unexecutedTensor(scheme: TensorScheme): string[] {
  if (scheme.bits === 16) return [];
  const reasons: string[] = [];
  if (scheme.outliers?.kind === 'bands' && !scheme.outliers.groupShift) {
    reasons.push('outlier bands without group shift are not executed yet');
  }
  return reasons;
}
