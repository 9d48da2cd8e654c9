/**
 * The graphs of one layer as model files, for any ONNX Runtime.
 */
import { LowbitKvError, type Plan, type TensorPlan } from '@lowbit-kv/core';
import { buildAttentionGraph } from './graph/attention.js';
import { buildEncodeGraph, type TokenType } from './graph/encode.js';
import { buildStatisticsGraph } from './graph/statistics.js';
import {
  hasBands,
  isPacked,
  measuredTransforms,
  statisticsTokens,
  thresholdsOf,
} from './packed-plan.js';
import { emulations, refusals } from './refusals.js';

export interface ExportOptions {
  /** Index into `plan.layers`: a layer of the model, or some of its kv heads where overrides name single heads. */
  readonly layer: number;
  /** Type of the `tokens` inputs of the encode graphs. Default `float16`. */
  readonly tokens?: TokenType;
}

/** Model files; docs/graphs.md lists their inputs and outputs. Null where the layer has no such step. */
export interface ExportedGraphs {
  readonly encodeKey: Uint8Array | null;
  readonly encodeValue: Uint8Array | null;
  /** What transforms measure on the sequence. */
  readonly keyStatistics: Uint8Array | null;
  readonly valueStatistics: Uint8Array | null;
  readonly attention: Uint8Array;
}

/** Writes the graphs of a layer. Throws OPTION_INVALID or PLAN_REFUSED. */
export function exportOnnx(plan: Plan, { layer: number, tokens }: ExportOptions): ExportedGraphs {
  const reasons = [...refusals(plan), ...emulations(plan)];
  if (reasons.length > 0) {
    throw new LowbitKvError('PLAN_REFUSED', {
      message: 'there are no graphs for this plan',
      value: reasons,
      valid: 'a plan the ONNX backend supports',
      next: 'Use another scheme.',
    });
  }
  const layer = plan.layers[number];
  if (layer === undefined) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'no such layer',
      value: number,
      valid: `0 to ${plan.layers.length - 1}`,
      next: 'Use an index into `layers` of the plan.',
    });
  }
  const metadata = {
    'lowbit-kv.plan': plan.fingerprint,
    'lowbit-kv.scheme': plan.scheme.id,
    'lowbit-kv.layer': String(layer.layer),
    'lowbit-kv.heads': JSON.stringify(layer.heads),
  };
  const encode = (tensor: TensorPlan) =>
    isPacked(tensor)
      ? buildEncodeGraph(tensor, { ...metadata, ...bandMetadata([tensor]) }, tokens)
      : null;
  const statistics = (tensor: TensorPlan) =>
    measuredTransforms(tensor).length === 0
      ? null
      : buildStatisticsGraph(tensor, statisticsTokens(plan, tensor), metadata);
  return {
    encodeKey: encode(layer.key),
    encodeValue: encode(layer.value),
    keyStatistics: statistics(layer.key),
    valueStatistics: statistics(layer.value),
    attention: buildAttentionGraph(layer, {
      ...metadata,
      ...bandMetadata([layer.key, layer.value]),
    }),
  };
}

/** What to feed the `thresholds` inputs of this layer, as a JSON array. */
function bandMetadata(tensors: readonly TensorPlan[]): Record<string, string> {
  const banded = tensors.filter((tensor) => isPacked(tensor) && hasBands(tensor));
  return Object.fromEntries(
    banded.map((tensor) => [
      `lowbit-kv.${tensor.tensor}_thresholds`,
      JSON.stringify([...thresholdsOf(tensor)]),
    ]),
  );
}
