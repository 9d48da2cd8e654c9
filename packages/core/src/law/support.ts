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
  const { codes, mode } = scheme.quantizer;
  if (typeof codes === 'object' && mode === 'asymmetric')
    reasons.push('level tables with a zero are not executed yet');
  if (typeof codes === 'object' && codes.levels === 'calibrated')
    reasons.push('calibrated level tables are not executed yet');
  if (typeof codes === 'object' && codes.scaledBy === 'none')
    reasons.push('level tables without a scale are not executed yet');
  for (const [name, type] of Object.entries(scheme.parameters)) {
    if (type !== 'f16') reasons.push(`${name} parameters of type ${type} are not executed yet`);
  }
  if (scheme.outliers?.kind === 'bands' && !scheme.outliers.groupShift) {
    reasons.push('outlier bands without group shift are not executed yet');
  }
  return reasons;
}
