/** What tuning takes, checked. */
import { defineScheme, LowbitKvError, type Scheme } from '@lowbit-kv/core';
import type { CompareOptions } from '../compare-options.js';
import type { LeftOut, TuneWindows } from './candidates.js';
import { leftOutTexts } from './reasons.js';

export interface TuneOptions
  extends Pick<
    CompareOptions,
    'capture' | 'backend' | 'calibrations' | 'calibrationSource' | 'modelLayers'
  > {
  /** Where candidates come from, and what the result is compared with. */
  readonly presets: readonly Scheme[];
  /** Bits per element of packed blocks, mean over the captured layers. */
  readonly budgetBits: number;
  /** Of the tuned scheme. Default 32 sinks and 96 recent tokens. */
  readonly windows?: Partial<TuneWindows>;
  /** Query positions of each part, at most half of those the capture has. Default 96. */
  readonly positions?: number;
  /** Id of the tuned scheme. Default: `tuned-` and the budget. */
  readonly id?: string;
  readonly onProgress?: (progress: TuneProgress) => void;
  /** Stops the run within a step of a replay or the errors of one candidate, with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** `part` of `parts`, from 0: tables of errors by layer, then replays of whole schemes. */
export interface TuneProgress {
  readonly phase: 'tables' | 'replays';
  readonly part: number;
  readonly parts: number;
  /** Layer of the model, or id of the scheme. */
  readonly what: string;
}

const DEFAULT_WINDOWS: TuneWindows = { sinks: 32, recent: 96 };
/** Errors of attention are heavy-tailed over positions: a few queries carry most of a layer's. */
const DEFAULT_POSITIONS = 96;

export interface CheckedTuneOptions {
  readonly windows: TuneWindows;
  readonly positions: number;
  readonly id: string;
}

/** Throws OPTION_INVALID, and SCHEME_INVALID for an id that no scheme can have. */
export function checkTuneOptions(options: TuneOptions): CheckedTuneOptions {
  const { budgetBits, id, positions = DEFAULT_POSITIONS } = options;
  if (!(Number.isFinite(budgetBits) && budgetBits > 0))
    throw refusal('budgetBits', budgetBits, 'a number above 0');
  const windows = { ...DEFAULT_WINDOWS, ...options.windows };
  requireCount('windows.sinks', windows.sinks, 0);
  requireCount('windows.recent', windows.recent, 0);
  requireCount('positions', positions, 1);
  const text = String(Math.round(budgetBits * 1000) / 1000).replace('.', '-');
  const named = id ?? `tuned-${text}`;
  checkId(named, options.presets);
  return { windows, positions, id: named };
}

/** The budget is below what the cheapest candidates cost; what is no candidate may be what the caller meant to spend it on. */
export function budgetTooLow(
  budget: number,
  lowest: number,
  leftOut: readonly LeftOut[],
): LowbitKvError {
  const reasons = leftOutTexts(leftOut).map((line) => line.replace(/\.$/, ''));
  return new LowbitKvError('OPTION_INVALID', {
    message: 'no choice of these candidates fits the budget',
    value: budget,
    valid: Number.isFinite(lowest)
      ? `at least ${lowest}: the cheapest key and value of every layer`
      : 'more: the data of a layer do not fit the cheapest candidates',
    next:
      reasons.length === 0
        ? 'Raise the budget, or add a scheme with fewer bits.'
        : `Raise the budget, or see why these are no candidates: ${reasons.join('; ')}.`,
    where: { field: 'budgetBits' },
  });
}

/** Refuses an id now that would be refused when the search is over, or would be taken for a preset. */
function checkId(id: string, presets: readonly Scheme[]): void {
  const f16 = { bits: 16 } as const;
  defineScheme({
    specVersion: 1,
    id,
    title: 'An id',
    sinks: 0,
    packing: 'before-attention',
    key: f16,
    value: f16,
    calibration: { kind: 'none' },
  });
  const taken = presets.some((preset) => preset.id === id);
  if (taken) throw refusal('id', id, 'an id that no preset has');
}

function requireCount(field: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw refusal(field, value, `an integer of at least ${least}`);
}

function refusal(field: string, value: unknown, valid: string): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: `${field} cannot be used`,
    value,
    valid,
    next: 'Correct the option.',
    where: { field },
  });
}
