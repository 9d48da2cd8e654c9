/**
 * The search space of a tuning run: the capture in two parts, and the candidates of both tensors.
 */
import { geometryOf, positionOf } from '../capture-layers.js';
import { type CompareRun, prepareRun, requireBackend } from '../compare-run.js';
import { inModelLayers, schemeForReplay } from '../layer-mapping.js';
import { refusalOf } from '../refusals.js';
import { resolveCalibration } from '../scheme-calibration.js';
import { type Candidate, type CandidateSource, candidatesOf, type LeftOut } from './candidates.js';
import type { TableContext } from './layer-table.js';
import { dataOfPart, type SplitCapture, splitCapture } from './split.js';
import { budgetTooLow, type CheckedTuneOptions, type TuneOptions } from './tune-options.js';

/** Sums of bits come in other orders than the budget was written down in. */
const ROUNDING = 1e-9;

export interface TuneSearch {
  readonly run: CompareRun;
  readonly split: SplitCapture;
  readonly table: TableContext;
  /** Bits of the cheapest candidates: the smallest budget. */
  readonly lowestBits: number;
  readonly leftOut: readonly LeftOut[];
}

/** Throws OPTION_INVALID when the budget is below `lowestBits`, BACKEND_UNAVAILABLE, and what reading the capture throws. */
export async function prepareSearch(
  options: TuneOptions,
  { windows, positions }: CheckedTuneOptions,
): Promise<TuneSearch> {
  const { presets, budgetBits, onProgress: _, ...shared } = options;
  const { backend } = shared;
  await requireBackend(backend);
  const run = await prepareRun({ ...shared, schemes: presets, positions: 2 * positions });
  const split = splitCapture(run.data);
  const data = dataOfPart(run.data, split.fit);
  const geometry = geometryOf(data, data.layers.length);
  const { sources, leftOut } = await candidateSources(run);
  const { places } = run;
  const context = { backend, windows, geometry, places, tokens: positionOf(data.sizes, 0) + 1 };
  const key = candidatesOf('key', sources, context);
  const value = candidatesOf('value', sources, context);
  const { keyHeadDim, valueHeadDim } = data.sizes;
  const pairBits = (a: Candidate, b: Candidate) =>
    (a.bits * keyHeadDim + b.bits * valueHeadDim) / (keyHeadDim + valueHeadDim);
  const lowestBits = pairBits(key.candidates[0] as Candidate, value.candidates[0] as Candidate);
  const allLeftOut = [...leftOut, ...key.leftOut, ...value.leftOut];
  if (budgetBits < lowestBits) throw budgetTooLow(budgetBits, lowestBits, allLeftOut);
  return {
    run,
    split,
    table: {
      data,
      candidates: { key: key.candidates, value: value.candidates },
      windows,
      geometry,
      backend,
      pairBits,
      mostBits: lowestBits + (budgetBits - lowestBits) * data.layers.length + ROUNDING,
    },
    lowestBits,
    leftOut: allLeftOut,
  };
}

/** The presets, calibrated where they have to be. One that cannot be gives no candidates. */
async function candidateSources(run: CompareRun) {
  const { places, options, source } = run;
  const sources: CandidateSource[] = [];
  const leftOut: LeftOut[] = [];
  for (const preset of options.schemes) {
    const given = options.calibrations?.[preset.id];
    try {
      const replayed = schemeForReplay(preset, places);
      const calibrated = await resolveCalibration(preset, replayed, places, given, source);
      sources.push({ preset, calibration: calibrated?.calibration ?? null });
    } catch (error) {
      const refusal = refusalOf(inModelLayers(error, places));
      if (refusal === null) throw error;
      for (const tensor of ['key', 'value'] as const)
        leftOut.push({ preset: preset.id, tensor, reason: refusal.reason });
    }
  }
  return { sources, leftOut };
}
