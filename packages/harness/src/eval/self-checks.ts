/** Self-checks of an evaluation: that f16 is the model, that the cache was used, that logits are logits. */
import { LowbitKvError, type PageClass, type Plan, windowCounts } from '@lowbit-kv/core';
import { isWorse } from '../metrics.js';
import type { ReportCheck } from '../report.js';
import type { WindowNotes } from './model.js';
import type { UncutFigures, WindowFigures } from './window-figures.js';

function checkOf(name: string, passed: boolean, detail: string): ReportCheck {
  return { name, result: passed ? 'passed' : 'failed', detail };
}

/** Of the run. All windows so far, f16 and the uncut model side by side. */
export function runChecks(
  f16: readonly WindowFigures[],
  uncut: readonly UncutFigures[],
  allowed: number,
): ReportCheck[] {
  let worst = { value: -1, position: 0, window: 0 };
  for (const [window, { difference }] of uncut.entries()) {
    if (isWorse(difference.value, worst.value)) worst = { ...difference, window };
  }
  const own = f16.flatMap(({ predictions: { divergence } }) => [...divergence]);
  const moved = own.findIndex((value) => value !== 0);
  return [
    checkOf(
      'f16-equals-uncut',
      worst.value <= allowed,
      `logits of f16 against those of the uncut model: largest difference ${worst.value.toPrecision(3)} (window ${worst.window} position ${worst.position}), at most ${allowed} allowed`,
    ),
    checkOf(
      'f16-diverges-by-0',
      moved < 0,
      moved < 0
        ? 'the divergence of f16 from itself is 0 at every position'
        : `the divergence of f16 from itself is ${own[moved]} at prediction ${moved}`,
    ),
    finiteCheck(f16, []),
    constantCheck(f16),
  ];
}

/** Throws MEASUREMENT_INVALID: against such a baseline nothing can be measured. */
export function requireChecks(checks: readonly ReportCheck[], model: string): void {
  const failed = checks.find(({ result }) => result === 'failed');
  if (failed === undefined) return;
  throw new LowbitKvError('MEASUREMENT_INVALID', {
    message: `the self-check ${failed.name} failed: ${failed.detail}`,
    value: model,
    valid: 'a model that gives the same finite logits with the f16 cache as without it',
    next: 'The model, or the way its attention was cut out, is at fault; a model that needs keys beyond the precision of f16 takes the option f16Difference.',
  });
}

/** Of a scheme. `answers` are its log-probabilities of the retrieval. */
export function schemeChecks(
  windows: readonly WindowFigures[],
  answers: readonly number[],
  plan: Plan,
): ReportCheck[] {
  return [finiteCheck(windows, answers), constantCheck(windows), cacheUsedCheck(windows, plan)];
}

function finiteCheck(windows: readonly WindowFigures[], answers: readonly number[]): ReportCheck {
  const answer = answers.findIndex((value) => !Number.isFinite(value));
  const place =
    notFinitePlace(windows) ??
    (answer < 0 ? null : `the answer to retrieval prompt ${answer} is not finite`);
  return checkOf(
    'finite',
    place === null,
    place ?? 'every prediction and every noted noise is a finite number',
  );
}

function constantCheck(windows: readonly WindowFigures[]): ReportCheck {
  const count = windows.reduce((sum, { constantRows }) => sum + constantRows, 0);
  return checkOf(
    'logits-not-constant',
    count === 0,
    count === 0 ? 'no row of logits is constant' : `${count} rows of logits are constant`,
  );
}

function cacheUsedCheck(windows: readonly WindowFigures[], plan: Plan): ReportCheck {
  const name = 'cache-used';
  const predictions = (windows[0] as WindowFigures).predictions.negativeLog.length;
  const seen = plan.classes.some((pageClass) => seenPacked(pageClass, predictions + 1) > 0);
  if (!seen)
    return { name, result: 'skipped', detail: 'no prediction of a window sees a packed token' };
  const same = windows.every(({ sameRows }) => sameRows === predictions);
  return checkOf(
    name,
    !same,
    same
      ? 'all logits equal those of f16 bit for bit, although packed tokens are attended to: the cache was not read'
      : 'logits differ from those of f16',
  );
}

/** Packed tokens of a class that the last prediction of a window sees. */
export function seenPacked(pageClass: PageClass, windowTokens: number): number {
  const length = windowTokens - (pageClass.packing === 'before-attention' ? 1 : 2);
  return windowCounts(pageClass, length).packed;
}

/** Where the first figure that is not finite stands, in words. */
function notFinitePlace(windows: readonly WindowFigures[]): string | null {
  for (const [window, { predictions, notes }] of windows.entries()) {
    const { negativeLog, divergence } = predictions;
    const row = negativeLog.findIndex(
      (value, i) => !Number.isFinite(value) || !Number.isFinite(divergence[i]),
    );
    if (row >= 0)
      return `the logits of window ${window} are not finite for position ${row + 1}, or give the right token or one that f16 expects no probability`;
    const place = notFiniteNotes(notes);
    if (place !== null) return `${place} of window ${window} are not finite`;
  }
  return null;
}

function notFiniteNotes({ layers, storedBits }: WindowNotes): string | null {
  for (const [layer, { key, value, heads }] of layers.entries()) {
    const sums = { keys: [key], values: [value], 'attention outputs': heads };
    for (const [what, list] of Object.entries(sums)) {
      if (list.some(({ error, energy }) => !Number.isFinite(error + energy)))
        return `${what} of layer ${layer}`;
    }
  }
  return Number.isFinite(storedBits) ? null : 'the stored bits';
}
