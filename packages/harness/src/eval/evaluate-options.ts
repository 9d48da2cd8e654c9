/** What an evaluation takes. */
import type { Calibration, Scheme } from '@lowbit-kv/core';
import type { PartStore } from '../work/part-store.js';
import type { EvaluatedModel } from './model.js';
import type { RetrievalOptions } from './retrieval-prompts.js';
import type { WindowOptions } from './windows.js';

export interface EvaluatedText {
  readonly name: string;
  /** Hex, of the text. */
  readonly sha256: string;
  /** Of the whole text, without special tokens. */
  readonly tokens: readonly number[];
}

export interface EvaluateOptions extends WindowOptions {
  readonly model: EvaluatedModel;
  readonly text: EvaluatedText;
  /** Rows of the report, in this order, after f16. Ids must differ; `f16` and `uncut` are taken. */
  readonly schemes: readonly Scheme[];
  /** Offline calibrations by scheme id, for all layers of the model. */
  readonly calibrations?: Readonly<Record<string, Calibration>>;
  /**
   * Everything else that the figures depend on, such as how the model was opened: goes into the report and into the keys of
   * the store.
   */
  readonly settings?: Readonly<Record<string, string>>;
  /** How the caller was called; into the report. */
  readonly command?: string;
  readonly retrieval?: RetrievalOptions;
  /** Finished windows, so that an interrupted run resumes. Default: none. */
  readonly store?: PartStore;
  /** Largest difference of a logit between f16 and the uncut model. Default `EVAL_THRESHOLDS.f16Difference`. */
  readonly f16Difference?: number;
  readonly onProgress?: (progress: EvalProgress) => void;
  /** Stops the run with the signal's reason; what is finished stays in the store. */
  readonly signal?: AbortSignal;
  /** Milliseconds of a clock that never goes back. Default `performance.now`. */
  readonly now?: () => number;
}

export interface EvalProgress {
  readonly phase: 'windows' | 'retrieval';
  /** Of the row that runs; `uncut` for the model itself. */
  readonly id: string;
  /** Window or retrieval prompt, from 0, of how many. */
  readonly part: number;
  readonly parts: number;
  /** Of all runs of the model, those that were resumed included. */
  readonly tokensDone: number;
  readonly tokensTotal: number;
  /** Of this process, 0 before the first rows. */
  readonly tokensPerSecond: number;
  /** Null before the first rows. */
  readonly secondsLeft: number | null;
}
