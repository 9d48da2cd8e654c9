/**
 * What this backend does not execute, by plan: asked before anything is allocated.
 */
import {
  isMeasured,
  type LayerPlan,
  type Plan,
  type QuantizedTensorScheme,
  type TensorPlan,
  unexecutedFeatures,
} from '@lowbit-kv/core';
import { queriesFit } from './shaders/attention-programs.js';
import { groupSize } from './shaders/group-size.js';

/** One reason per feature; empty when the whole plan runs. */
export function refusals(plan: Plan): string[] {
  const reasons = new Set(unexecutedFeatures(plan));
  for (const layer of plan.layers) {
    for (const tensor of ['key', 'value'] as const)
      for (const reason of refusedTensor(layer[tensor])) reasons.add(`${tensor}: ${reason}`);
    for (const reason of refusedLayer(layer)) reasons.add(reason);
  }
  return [...reasons];
}

/** Terms that a pairwise sum in a shader has room for. */
const MOST_TERMS = 4095;

function refusedLayer(layer: LayerPlan): string[] {
  if (queriesFit(layer)) return [];
  const { headDim } = layer.key;
  return [`key: queries of head dim ${headDim} do not fit into workgroup memory`];
}

function refusedTensor(plan: TensorPlan): string[] {
  const { scheme, headDim, heads, codec } = plan;
  const reasons: string[] = [];
  if (headDim % 2 !== 0) reasons.push(`head dim ${headDim} is odd`);
  if (heads > 65535) reasons.push(`${heads} kv heads are more than a dispatch has`);
  if (scheme.bits === 16) return reasons;
  const { quantizer } = scheme;
  if (codec !== undefined && codec.wgsl === undefined)
    reasons.push(`the codec ${JSON.stringify(codec.id)} brings no WGSL text`);
  for (const step of scheme.transforms ?? []) {
    if (isMeasured(step) && step.statisticsTokens > MOST_TERMS)
      reasons.push(`statistics of more than ${MOST_TERMS} tokens have no shader`);
  }
  if (sumsGroups(quantizer) && groupSize(plan) > MOST_TERMS)
    reasons.push(`groups of more than ${MOST_TERMS} elements have no shader with this quantizer`);
  return reasons;
}

function sumsGroups({ mode, codes }: QuantizedTensorScheme['quantizer']): boolean {
  return mode === 'hybrid' || (typeof codes === 'object' && codes.scaledBy === 'rootMeanSquare');
}
