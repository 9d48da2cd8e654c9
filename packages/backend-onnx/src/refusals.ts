/**
 * Why a plan has no graphs, or not for all of it: what the law does not execute, what is not built here yet, and what runs
 * on the host instead.
 */
import { type Plan, type TensorPlan, unexecutedFeatures } from '@lowbit-kv/core';

/** One reason per field that is not executed at all; empty when the whole plan is. */
export function refusals(plan: Plan): string[] {
  return [...new Set([...unexecutedFeatures(plan), ...tensorReasons(plan, parameterRefusals)])];
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
