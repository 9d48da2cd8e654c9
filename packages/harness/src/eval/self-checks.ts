/** Self-checks of an evaluation: that f16 is the model, that the cache was used, that figures are figures. */
import { LowbitKvError, type PageClass, windowCounts } from '@lowbit-kv/core';
import { addSums, isWorse } from '../metrics.js';
import type { ReportCheck } from '../report.js';
import type { LayerNotes, WindowNotes } from './model.js';
import type { WindowFigures } from './window-figures.js';

type Tensor = PageClass['tensor'];
/** By number of the window, in order. */
type Windows = ReadonlyMap<number, WindowFigures>;

function checkOf(name: string, passed: boolean, detail: string): ReportCheck {
  return { name, result: passed ? 'passed' : 'failed', detail };
}

/** Of the run: all windows of f16 so far. */
export function runChecks(f16: Windows, allowed: number): ReportCheck[] {
  let worst = { value: -1, position: 0, window: 0 };
  for (const [window, { uncut }] of f16) {
    if (isWorse(uncut.difference.value, worst.value)) worst = { ...uncut.difference, window };
  }
  return [
    checkOf(
      'f16-equals-uncut',
      worst.value <= allowed,
      `logits of f16 against those of the uncut model: largest difference ${worst.value.toPrecision(3)} (window ${worst.window} position ${worst.position}), at most ${allowed} allowed`,
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
  windows: Windows,
  answers: readonly number[],
  classes: readonly PageClass[],
): ReportCheck[] {
  return [
    finiteCheck(windows, answers),
    constantCheck(windows),
    cacheUsedCheck(windows, classes),
    noiseNotedCheck(windows, classes),
  ];
}

function finiteCheck(windows: Windows, answers: readonly number[]): ReportCheck {
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

function constantCheck(windows: Windows): ReportCheck {
  const count = [...windows.values()].reduce((sum, { constantRows }) => sum + constantRows, 0);
  return checkOf(
    'logits-not-constant',
    count === 0,
    count === 0 ? 'no row of logits is constant' : `${count} rows of logits are constant`,
  );
}

/** Packed tokens move logits, be it by one bit: where none moved, the model did not read them. */
function cacheUsedCheck(windows: Windows, classes: readonly PageClass[]): ReportCheck {
  const name = 'cache-used';
  const predictions = predictionsOf(windows);
  if (!classes.some((pageClass) => seenPacked(pageClass, predictions + 1) > 0))
    return { name, result: 'skipped', detail: 'no prediction of a window sees a packed token' };
  const [same] = [...windows].find(([, { sameRows }]) => sameRows === predictions) ?? [];
  return checkOf(
    name,
    same === undefined,
    same === undefined
      ? 'logits of every window differ from those of f16'
      : `all logits of window ${same} equal those of f16 bit for bit, although packed tokens are attended to: the cache was not read`,
  );
}

/** What is packed differs from what it was: a noise of exactly 0 was not measured. */
function noiseNotedCheck(windows: Windows, classes: readonly PageClass[]): ReportCheck {
  const name = 'noise-noted';
  const tokens = predictionsOf(windows) + 1;
  const packed = classes.filter((pageClass) => seenPacked(pageClass, tokens) > 0);
  if (packed.length === 0)
    return { name, result: 'skipped', detail: 'no prediction of a window sees a packed token' };
  const silent = packed.flatMap(({ tensor, layers }) =>
    layers.flatMap((layer) => {
      const notes = [...windows.values()].map(({ notes }) => notes.layers[layer] as LayerNotes);
      return silentPart(notes, tensor).map((part) => `${part} of layer ${layer}`);
    }),
  );
  return checkOf(
    name,
    silent.length === 0,
    silent[0] === undefined
      ? 'every layer with packed tokens has noise'
      : `the noted noise is exactly 0 although tokens are packed: ${silent[0]}`,
  );
}

/** Of each window. */
function predictionsOf(windows: Windows): number {
  const [first] = windows.values();
  return first?.predictions.negativeLog.length ?? 0;
}

/** A signal without any noise. What is 0 everywhere may be stored exactly. */
function silentPart(notes: readonly LayerNotes[], tensor: Tensor): string[] {
  const sums = {
    [`${tensor}s`]: addSums(notes.map((layer) => layer[tensor])),
    'attention outputs': addSums(notes.flatMap(({ heads }) => heads)),
  };
  return Object.keys(sums).filter((part) => sums[part]?.error === 0 && sums[part]?.energy !== 0);
}

/** Packed tokens of a class that the last prediction of a window sees. */
export function seenPacked(pageClass: PageClass, windowTokens: number): number {
  const length = windowTokens - (pageClass.packing === 'before-attention' ? 1 : 2);
  return windowCounts(pageClass, length).packed;
}

/** Where the first figure that is not finite stands, in words. */
function notFinitePlace(windows: Windows): string | null {
  for (const [window, { predictions, notes }] of windows) {
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
  for (const [layer, { key, value, heads, causes }] of layers.entries()) {
    const outputs = causes === undefined ? heads : [...heads, causes.keysOnly, causes.valuesOnly];
    const sums = { keys: [key], values: [value], 'attention outputs': outputs };
    for (const [what, list] of Object.entries(sums)) {
      if (list.some(({ error, energy }) => !Number.isFinite(error + energy)))
        return `${what} of layer ${layer}`;
    }
  }
  return Number.isFinite(storedBits) ? null : 'the stored bits';
}
