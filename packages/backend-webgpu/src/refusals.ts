/**
 * What this backend does not execute, by plan: asked before anything is allocated.
 */
import { type Plan, type TensorPlan, unexecutedFeatures } from '@lowbit-kv/core';

/** One reason per feature; empty when the whole plan runs. */
export function refusals(plan: Plan): string[] {
  const reasons = new Set(unexecutedFeatures(plan));
  for (const layer of plan.layers)
    for (const tensor of ['key', 'value'] as const)
      for (const reason of refusedTensor(layer[tensor])) reasons.add(`${tensor}: ${reason}`);
  return [...reasons];
}

function refusedTensor({ scheme, headDim, heads }: TensorPlan): string[] {
  const reasons: string[] = [];
  if (headDim % 2 !== 0) reasons.push(`head dim ${headDim} is odd`);
  if (heads > 65535) reasons.push(`${heads} kv heads are more than a dispatch has`);
  if (scheme.bits === 16) return reasons;
  const { quantizer, parameters, outliers } = scheme;
  if (outliers !== undefined) reasons.push(`outliers of kind ${outliers.kind} have no shader yet`);
  if (quantizer.mode === 'codec') reasons.push('codecs have no shader yet');
  if (typeof quantizer.codes === 'object') {
    if (quantizer.mode === 'asymmetric')
      reasons.push('level tables with a zero have no shader yet');
    if (quantizer.codes.scaledBy === 'none')
      reasons.push('level tables without a scale have no shader yet');
  }
  for (const [name, type] of Object.entries(parameters))
    if (type !== 'f16') reasons.push(`${name} parameters of type ${type} have no shader yet`);
  if (scheme.stage === 'pre-rope')
    reasons.push('keys before the rotary embedding have no shader yet');
  for (const transform of scheme.transforms ?? []) {
    if ('scope' in transform && transform.scope === 'model')
      reasons.push(`a calibrated ${transform.kind} has no shader yet`);
    if (transform.kind === 'tensorScale') reasons.push('tensor scales have no shader yet');
    if (transform.kind === 'channelMean' && 'minimumOffset' in transform)
      reasons.push('channel means with a smallest offset have no shader yet');
    if (transform.kind === 'hadamard' && transform.seed !== undefined)
      reasons.push('rotations with signs have no shader yet');
  }
  return reasons;
}
