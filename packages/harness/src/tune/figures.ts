/**
 * Figures of a tuning report from what the search found.
 */
import { positionOf } from '../capture-layers.js';
import { meanOf } from '../metrics.js';
import { finiteOrNull } from '../report.js';
import type { Allocation } from './allocation.js';
import type { Candidate, TensorName } from './candidates.js';
import type { LayerTable } from './layer-table.js';
import type { TuneSearch } from './search.js';
import type { CapturePart } from './split.js';
import type { AllocationFigures, CandidateFigures, PositionRange } from './tune-report.js';

export function rangeOf({ sizes }: CapturePart): PositionRange {
  return { first: positionOf(sizes, 0), last: sizes.tokens - 1, count: sizes.queries };
}

export function candidateFigures(
  candidates: readonly Candidate[],
  tables: readonly LayerTable[],
  tensor: TensorName,
): CandidateFigures[] {
  return candidates.map(({ presets, bits }, place) => ({
    presets,
    bits,
    alone: finiteOrNull(meanOf(tables.map(({ alone }) => alone[tensor][place] as number))),
  }));
}

export function allocationFigures(
  { run, table: { candidates } }: TuneSearch,
  tables: readonly LayerTable[],
  best: Allocation,
  greedy: Allocation,
): AllocationFigures {
  return {
    bits: best.bits,
    error: best.error,
    layers: best.choices.map((choice, place) => {
      const key = candidates.key[choice.key] as Candidate;
      const value = candidates.value[choice.value] as Candidate;
      return {
        layer: run.places.captured[place] as number,
        key: key.presets[0],
        keyBits: key.bits,
        value: value.presets[0],
        valueBits: value.bits,
        bits: choice.bits,
        error: choice.error,
        pairs: (tables[place] as LayerTable).choices.length,
      };
    }),
    greedy: {
      bits: greedy.bits,
      error: greedy.error,
      gap: best.error === 0 ? 0 : greedy.error / best.error - 1,
    },
  };
}
