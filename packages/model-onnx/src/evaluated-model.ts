/**
 * A decoder as the harness evaluates it: windows replayed, or decoded step by step, under a plan.
 */
import type { Backend } from '@lowbit-kv/core';
import type { EvaluatedModel, LogitsSink } from '@lowbit-kv/harness';
import type { Decoder } from './decoder/decoder.js';
import type { AttentionSessions } from './replay/attention-graph.js';
import { PlanReplay } from './replay/plan-replay.js';
import { StepRun } from './replay/step-run.js';

export interface EvaluatedModelOptions {
  readonly name: string;
  readonly decoder: Decoder;
  readonly attention: AttentionSessions;
  /** The model as it came: logits of a window. */
  readonly uncut: EvaluatedModel['uncut'];
  /** What packs (`replay`), or packs and attends (`decode`). */
  readonly backend: Backend;
  /** Longest window. */
  readonly tokens: number;
  /** `replay` is a prefill; `decode` the true loop, a step per token. Default `replay`. */
  readonly mode?: 'replay' | 'decode';
  readonly allowEmulation?: boolean;
}

export function evaluatedModel(options: EvaluatedModelOptions): EvaluatedModel {
  const { name, decoder, attention, uncut, mode = 'replay', ...rest } = options;
  const { geometry, vocabularySize, contextLimit, fingerprint } = decoder;
  const Run = mode === 'replay' ? PlanReplay : StepRun;
  return {
    name,
    fingerprint,
    geometry,
    vocabularySize,
    contextLimit,
    uncut: (tokens: readonly number[], sink: LogitsSink) => uncut(tokens, sink),
    open: (plan) => Run.open(decoder, plan, attention, rest),
  };
}
