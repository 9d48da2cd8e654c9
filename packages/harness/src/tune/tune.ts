/**
 * Chooses keys and values per layer under a budget of bits, and measures the choice on queries it was not chosen by.
 *
 * The table of a layer holds exact errors of pairs on the earlier queries; dynamic programming spends the budget; replays
 * through real caches give every figure of the rows.
 */
import { LowbitKvError, schemeDataOf } from '@lowbit-kv/core';
import type { CompareRun } from '../compare-run.js';
import { THRESHOLDS } from '../thresholds.js';
import {
  type Allocation,
  allocateExactly,
  allocateGreedily,
  type LayerChoice,
  lowestBits,
} from './allocation.js';
import { allocationFigures, candidateFigures, rangeOf } from './figures.js';
import { type LayerTable, layerTable } from './layer-table.js';
import { type MeasuredRows, measureRows } from './measure-rows.js';
import { prepareSearch, type TuneSearch } from './search.js';
import { bestSinglePair } from './single-pair.js';
import { rowsOfPart } from './split.js';
import {
  budgetTooLow,
  checkTuneOptions,
  type TuneOptions,
  type TuneProgress,
} from './tune-options.js';
import type { TuneReport, TuneRow } from './tune-report.js';
import { type Pair, type TunedScheme, tunedScheme } from './tuned-scheme.js';

/**
 * Throws OPTION_INVALID for a budget that nothing fits (it says the lowest that something fits), MEASUREMENT_INVALID when
 * the replay of the result disagrees with the table, the reason of the signal, and what a comparison throws.
 */
export async function tuneScheme(options: TuneOptions): Promise<TuneReport> {
  const checked = checkTuneOptions(options);
  const { budgetBits, onProgress = () => undefined } = options;
  const search = await prepareSearch(options, checked);
  const { run, split, table } = search;
  const tables = await layerTables(search, onProgress);
  const choices = tables.map((entry) => entry.choices);
  const best = allocateExactly(choices, budgetBits);
  const greedy = allocateGreedily(choices, budgetBits);
  if (best === null || greedy === null)
    throw budgetTooLow(budgetBits, lowestBits(choices), search.leftOut);

  const elsewhere = bestSinglePair(table, tables, budgetBits);
  const provenance = provenanceOf(options, search);
  const parts = {
    id: checked.id,
    title: `Tuned to ${budgetBits} bits per element`,
    windows: checked.windows,
    elsewhere,
    provenance,
  };
  const tuned = tunedScheme({
    ...parts,
    layers: best.choices.map((choice, place) => ({
      layer: run.places.captured[place] as number,
      pair: pairOf(search, choice),
    })),
  });
  const singlePair = tunedScheme({ ...parts, id: `${checked.id}-single-pair`, layers: [] }).scheme;
  const { windows } = checked;
  const inputs = { run, split, tuned, singlePair, windows, budgetBits, onProgress };
  const measured = await measureRows(inputs);
  requireAgreement(best, measured);
  return {
    reportVersion: 1,
    capture: {
      file: options.capture.file,
      sha256: run.data.sha256,
      layers: [...run.places.captured],
      tokens: run.data.sizes.tokens,
    },
    fit: rangeOf(split.fit),
    heldOut: rangeOf(split.heldOut),
    budgetBits,
    lowestBits: search.lowestBits,
    windows,
    candidates: {
      key: candidateFigures(table.candidates.key, tables, 'key'),
      value: candidateFigures(table.candidates.value, tables, 'value'),
    },
    leftOut: search.leftOut,
    allocation: allocationFigures(search, tables, best, greedy),
    ...measured,
    beatsAll: beatsPresets(measured.rows),
    schemeFile: fileOf(tuned, provenance),
  };
}

async function layerTables(
  { run, split, table }: TuneSearch,
  onProgress: (progress: TuneProgress) => void,
): Promise<LayerTable[]> {
  const tables: LayerTable[] = [];
  for (const [place, layer] of run.places.captured.entries()) {
    const parts = run.places.captured.length;
    onProgress({ phase: 'tables', part: place, parts, what: `layer ${layer}` });
    const exact = rowsOfPart(run.exact[place] as CompareRun['exact'][number], split.fit);
    tables.push(await layerTable(table, place, exact.output, run.pause));
  }
  return tables;
}

function pairOf({ table: { candidates } }: TuneSearch, { key, value }: LayerChoice): Pair {
  return {
    key: candidates.key[key] as Pair['key'],
    value: candidates.value[value] as Pair['value'],
  };
}

function provenanceOf(
  { capture, budgetBits }: TuneOptions,
  { run, split }: TuneSearch,
): Readonly<Record<string, string>> {
  const { model, text } = capture.provenance;
  const { first, last, count } = rangeOf(split.fit);
  return {
    'made by': 'lowbit-kv tune',
    ...(model === undefined ? {} : { model }),
    ...(text === undefined ? {} : { text }),
    capture: `layers ${run.places.captured.join(', ')}, ${run.data.sizes.tokens} tokens, sha256 ${run.data.sha256}`,
    budget: `${budgetBits} bits per element of packed blocks`,
    objective: `least mean over layers of the NMSE of the attention output, ${count} queries at ${first}..${last}`,
  };
}

/** How far the replay of the tuned scheme may be from the table: rounding of decoded values and outputs to f32. */
const TABLE_AGREEMENT = 1e-4;

/** Throws MEASUREMENT_INVALID when the tuned scheme has no row, or not the error that the table foretold. */
function requireAgreement(best: Allocation, { rows, unmeasured }: MeasuredRows): void {
  const error = rows[0]?.kind === 'tuned' ? rows[0].fit.nmse : null;
  const allowed = TABLE_AGREEMENT * best.error + THRESHOLDS.exactOutput;
  if (error !== null && Math.abs(error - best.error) <= allowed) return;
  throw new LowbitKvError('MEASUREMENT_INVALID', {
    message:
      'the replay of the tuned scheme does not give the error that the table of its layers foretold',
    value: error ?? unmeasured[0]?.reason,
    valid: `${best.error}, give or take ${allowed}`,
    next: 'Report this with the capture; nothing of this run should be used.',
  });
}

/** Whether every preset loses more than the tuned scheme on the held-out queries. */
function beatsPresets([tuned, ...others]: readonly TuneRow[]): boolean {
  const error = tuned?.heldOut.nmse ?? null;
  return (
    error !== null &&
    others.every(
      ({ kind, heldOut: { nmse } }) => kind === 'single-pair' || nmse === null || nmse > error,
    )
  );
}

function fileOf(
  { scheme, calibration }: TunedScheme,
  provenance: Readonly<Record<string, string>>,
): TuneReport['schemeFile'] {
  return {
    schemeFile: 1,
    scheme: schemeDataOf(scheme),
    ...(calibration === null ? {} : { calibration }),
    provenance,
  };
}
