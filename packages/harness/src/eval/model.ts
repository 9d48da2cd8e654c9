/**
 * What an evaluation needs of a model: logits of a window of tokens under a plan, teacher-forced. Implemented by
 * @lowbit-kv/model-onnx; the harness knows no model format.
 */
import type { Geometry, Plan } from '@lowbit-kv/core';
import type { ErrorSum } from '../metrics.js';

/**
 * Rows `[rows, vocabularySize]` of logits from position `firstRow` of the window on; valid only during the call. Each row
 * comes once, in any order; the last one may be left out. What it throws ends the run, and has to pass.
 */
export type LogitsSink = (firstRow: number, logits: Float32Array) => void;

export interface EvaluatedModel {
  /** For people: the folder's or the repository's name. */
  readonly name: string;
  /** SHA-256 of the model's files. */
  readonly fingerprint: string;
  readonly geometry: Geometry;
  readonly vocabularySize: number;
  /** Longest context, or null when the model does not say. */
  readonly contextLimit: number | null;
  /** False: attention stays inside the model, and notes have no noise of its outputs. Default true. */
  readonly notesHeads?: boolean;
  /** The model's own graph with its own cache, uncut: what f16 must equal. */
  uncut(tokens: readonly number[], sink: LogitsSink): Promise<void>;
  /** Ready to run windows under a plan. */
  open(plan: Plan): Promise<PlanRun>;
}

export interface PlanRun {
  /** Tokens of one window from an empty cache; every position sees exactly what step-by-step decoding would show it. */
  run(tokens: readonly number[], sink: LogitsSink): Promise<WindowNotes>;
  dispose(): Promise<void>;
}

export interface WindowNotes {
  readonly layers: readonly LayerNotes[];
  /** Bits per element of keys and values as stored at the end of the window, tokens still in f16 included. */
  readonly storedBits: number;
}

/** Noise of one layer in one window: sums of squares, so that windows add up. */
export interface LayerNotes {
  /** Of all tokens as held at the end of the window, against f32. */
  readonly key: ErrorSum;
  readonly value: ErrorSum;
  /**
   * Attention outputs of sampled positions, the last one among them, per query head, against f32 attention with the layer's
   * own Q, K and V. Empty for a model with `notesHeads: false`.
   */
  readonly heads: readonly ErrorSum[];
  /**
   * Attention outputs of late positions with only the keys, or only the values, as held at the end of the window: which of
   * the two is to blame. Of all layers or of none.
   */
  readonly causes?: { readonly keysOnly: ErrorSum; readonly valuesOnly: ErrorSum };
}
