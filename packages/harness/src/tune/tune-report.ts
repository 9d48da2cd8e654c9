/**
 * What tuning reports. Layers are numbered as in the model; errors are NMSE of the attention output, null when not finite.
 */
import type { OutputError } from '../report.js';
import type { SchemeFile } from '../scheme-file.js';
import type { LeftOut, TuneWindows } from './candidates.js';

export interface TuneReport {
  readonly reportVersion: 1;
  readonly capture: {
    readonly file: string;
    readonly sha256: string;
    readonly layers: readonly number[];
    readonly tokens: number;
  };
  /** Query positions to choose by and to judge by. */
  readonly fit: PositionRange;
  readonly heldOut: PositionRange;
  readonly budgetBits: number;
  /** The smallest budget these candidates allow. */
  readonly lowestBits: number;
  readonly windows: TuneWindows;
  readonly candidates: {
    readonly key: readonly CandidateFigures[];
    readonly value: readonly CandidateFigures[];
  };
  readonly leftOut: readonly LeftOut[];
  readonly allocation: AllocationFigures;
  /** The tuned scheme, its best single pair, then every preset within the budget, as it is and under the same windows. */
  readonly rows: readonly TuneRow[];
  /** Presets that could not be replayed. */
  readonly unmeasured: readonly Unmeasured[];
  /** Whether every preset within the budget, with either windows, loses more than the tuned scheme on the held-out part. */
  readonly beatsAll: boolean;
  readonly schemeFile: SchemeFile;
}

export interface PositionRange {
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

export interface CandidateFigures {
  readonly presets: readonly string[];
  readonly bits: number;
  /** Mean over layers of the error with this tensor alone, on the part to choose by; null where a layer cannot store it. */
  readonly alone: number | null;
}

export interface AllocationFigures {
  /** Mean over the captured layers, of packed blocks. */
  readonly bits: number;
  /** On the part to choose by, from the table. */
  readonly error: number;
  readonly layers: readonly {
    readonly layer: number;
    readonly key: string;
    readonly keyBits: number;
    readonly value: string;
    readonly valueBits: number;
    /** Of both, each weighed by its elements. */
    readonly bits: number;
    readonly error: number;
    /** Pairs that the table holds for this layer. */
    readonly pairs: number;
  }[];
  /** The greedy shortcut on the same table; `gap` is its error over the best, minus 1. */
  readonly greedy: { readonly bits: number; readonly error: number; readonly gap: number };
}

export const TUNE_ROW_KINDS = ['tuned', 'single-pair', 'preset', 'same-windows'] as const;

export interface TuneRow {
  readonly kind: (typeof TUNE_ROW_KINDS)[number];
  readonly id: string;
  /** Per element of packed blocks, as `bitsPerElement` counts: what the budget is about. */
  readonly bits: number;
  /** Per element with windows and what waits to be packed, mean over the attended steps of both parts. */
  readonly bitsWithWindows: number;
  readonly fit: PartError;
  readonly heldOut: PartError;
}

export interface Unmeasured {
  readonly id: string;
  readonly reason: string;
}

export type PartError = Pick<OutputError, 'nmse' | 'worstLayer' | 'worstHead'>;
