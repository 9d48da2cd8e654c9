/**
 * The rows of a tuning report: schemes replayed through real caches, their errors told apart by part.
 */
import { bitsPerElement, defineScheme, type Scheme, schemeFingerprint } from '@lowbit-kv/core';
import type { CompareRun } from '../compare-run.js';
import { refusalOf } from '../refusals.js';
import { planReplay, schemeRow } from '../scheme-row.js';
import { type TuneWindows, withWindows } from './candidates.js';
import { errorOfPart, type SplitCapture } from './split.js';
import type { TuneProgress } from './tune-options.js';
import type { PartError, TuneRow, Unmeasured } from './tune-report.js';
import type { TunedScheme } from './tuned-scheme.js';

export interface RowsToMeasure {
  readonly run: CompareRun;
  readonly split: SplitCapture;
  readonly tuned: TunedScheme;
  /** The best single pair as a scheme. */
  readonly singlePair: Scheme;
  readonly windows: TuneWindows;
  readonly budgetBits: number;
  readonly onProgress: (progress: TuneProgress) => void;
}

export interface MeasuredRows {
  /** The tuned scheme first when it could be measured; presets beyond the budget have no row. */
  readonly rows: readonly TuneRow[];
  readonly unmeasured: readonly Unmeasured[];
}

/** A mean over layers is not the very number that the budget was written as. */
const ROUNDING = 1e-9;

/** Replays the tuned scheme, its single pair, and the presets of the run as they are and under the same windows. */
export async function measureRows(inputs: RowsToMeasure): Promise<MeasuredRows> {
  const { tuned, singlePair, windows, budgetBits, split, onProgress } = inputs;
  const run = withCalibration(inputs.run, tuned);
  const presets = run.options.schemes;
  const subjects: { kind: TuneRow['kind']; scheme: Scheme }[] = [
    { kind: 'tuned', scheme: tuned.scheme },
    { kind: 'single-pair', scheme: singlePair },
    ...presets.map((scheme) => ({ kind: 'preset' as const, scheme })),
    ...sameWindows(presets, windows).map((scheme) => ({ kind: 'same-windows' as const, scheme })),
  ];
  const rows: TuneRow[] = [];
  const unmeasured: Unmeasured[] = [];
  for (const [i, { kind, scheme }] of subjects.entries()) {
    onProgress({ phase: 'replays', part: i, parts: subjects.length, what: scheme.id });
    await run.pause();
    const bits = await plannedBits(run, scheme);
    if (typeof bits === 'number' && bits > budgetBits + ROUNDING) continue;
    const row = typeof bits === 'number' ? await partErrors(run, split, scheme) : bits;
    if ('reason' in row) unmeasured.push({ id: scheme.id, reason: row.reason });
    else rows.push({ kind, id: scheme.id, bits: bits as number, ...row });
  }
  return { rows, unmeasured };
}

function withCalibration(run: CompareRun, { scheme, calibration }: TunedScheme): CompareRun {
  if (calibration === null) return run;
  const calibrations = { ...run.options.calibrations, [scheme.id]: calibration };
  return { ...run, options: { ...run.options, calibrations } };
}

/** Bits per element over the captured layers, or why the scheme cannot be planned for them. */
async function plannedBits(
  run: CompareRun,
  scheme: Scheme,
): Promise<number | { readonly reason: string }> {
  try {
    const { plan } = await planReplay(run, scheme);
    return bitsPerElement(plan).all.total;
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    return refusal;
  }
}

async function partErrors(
  run: CompareRun,
  split: SplitCapture,
  scheme: Scheme,
): Promise<Pick<TuneRow, 'bitsWithWindows' | 'fit' | 'heldOut'> | { readonly reason: string }> {
  const numbers = run.data.layers.map(({ index }) => index);
  const errors: { fit?: PartError; heldOut?: PartError } = {};
  const row = await schemeRow(
    run,
    scheme,
    () => undefined,
    async ({ layers }) => {
      for (const part of ['fit', 'heldOut'] as const) {
        const { nmse, worstLayer, worstHead } = errorOfPart(
          layers,
          run.exact,
          numbers,
          split[part],
        );
        errors[part] = { nmse, worstLayer, worstHead };
      }
    },
  );
  if (row.status !== 'measured') return { reason: row.reason };
  if (row.verdict.level === 'invalid') return { reason: row.verdict.reason };
  const { fit, heldOut } = errors as Required<typeof errors>;
  return { bitsWithWindows: row.bits.attended, fit, heldOut };
}

/** Presets with the windows of the tuned scheme; those that had them already are left out, and so are twins. */
function sameWindows(presets: readonly Scheme[], windows: TuneWindows): Scheme[] {
  const known = new Set(presets.map(schemeFingerprint));
  return presets.flatMap((preset) => {
    const { overrides: _, ...rest } = preset;
    const scheme = defineScheme({
      ...rest,
      id: `${preset.id.slice(0, 50).replace(/-$/, '')}-same-windows`,
      sinks: windows.sinks,
      packing: 'before-attention',
      key: withWindows(preset.key, windows),
      value: withWindows(preset.value, windows),
    });
    const print = schemeFingerprint(scheme);
    if (known.has(print)) return [];
    known.add(print);
    return [scheme];
  });
}
