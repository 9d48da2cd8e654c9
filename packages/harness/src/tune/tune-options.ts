/** What tuning takes, checked. */
import { LowbitKvError, type Scheme } from '@lowbit-kv/core';
import type { CompareOptions } from '../compare-options.js';
import type { TuneWindows } from './candidates.js';

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
  readonly onProgress?: (what: string) => void;
}

const DEFAULT_WINDOWS: TuneWindows = { sinks: 32, recent: 96 };
/** Errors of attention are heavy-tailed over positions: a few queries carry most of a layer's. */
const DEFAULT_POSITIONS = 96;

export interface CheckedTuneOptions {
  readonly windows: TuneWindows;
  readonly positions: number;
  readonly id: string;
}

/** Throws OPTION_INVALID. */
export function checkTuneOptions(options: TuneOptions): CheckedTuneOptions {
  const { budgetBits, id, positions = DEFAULT_POSITIONS } = options;
  if (!(Number.isFinite(budgetBits) && budgetBits > 0))
    throw refusal('budgetBits', budgetBits, 'a number above 0');
  const windows = { ...DEFAULT_WINDOWS, ...options.windows };
  requireCount('windows.sinks', windows.sinks, 0);
  requireCount('windows.recent', windows.recent, 0);
  requireCount('positions', positions, 1);
  const text = String(Math.round(budgetBits * 1000) / 1000).replace('.', '-');
  return { windows, positions, id: id ?? `tuned-${text}` };
}

/** The budget is below what the cheapest candidates cost. */
export function budgetTooLow(budget: number, lowest: number): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: 'no choice of these candidates fits the budget',
    value: budget,
    valid: Number.isFinite(lowest)
      ? `at least ${lowest}: the cheapest key and value of every layer`
      : 'more: the data of a layer do not fit the cheapest candidates',
    next: 'Raise the budget, or add a scheme with fewer bits.',
    where: { field: 'budgetBits' },
  });
}

function requireCount(field: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw refusal(field, value, `an integer of at least ${least}`);
}

function refusal(field: string, value: number, valid: string): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: `${field} is out of range`,
    value,
    valid,
    next: 'Correct the option.',
    where: { field },
  });
}
