/**
 * Errors of attention outputs and of decoded tensors. NaN and infinities are never averaged away: they come out as the
 * worst there is.
 */
import { type CaptureSizes, positionOf } from './capture-layers.js';
import type { ExactAttention } from './exact-attention.js';
import { finiteOrNull, type OutputError } from './report.js';

/** Sums of squares of a difference and of its reference. */
export interface ErrorSum {
  readonly error: number;
  readonly energy: number;
}

/** `error / energy`; 0 without an error, infinite for an error where everything should be 0. */
export function nmseOf({ error, energy }: ErrorSum): number {
  return error === 0 ? 0 : error / energy;
}

/** Over elements `first` to `end`. */
export function errorSum(
  actual: ArrayLike<number>,
  exact: ArrayLike<number>,
  first = 0,
  end = exact.length,
): ErrorSum {
  let error = 0;
  let energy = 0;
  for (let i = first; i < end; i++) {
    const reference = exact[i] as number;
    const difference = (actual[i] as number) - reference;
    error += difference * difference;
    energy += reference * reference;
  }
  return { error, energy };
}

export function addSums(sums: readonly ErrorSum[]): ErrorSum {
  return sums.reduce((a, b) => ({ error: a.error + b.error, energy: a.energy + b.energy }), {
    error: 0,
    energy: 0,
  });
}

/** Larger, with NaN above everything. */
export function isWorse(candidate: number, worst: number): boolean {
  return !Number.isNaN(worst) && !(candidate <= worst);
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** As a replay gives them. */
export interface AttentionFigures {
  /** `[queries, queryHeads, valueHeadDim]`. */
  readonly output: ArrayLike<number>;
  /** `[queries, queryHeads]`. */
  readonly logSumExp: ArrayLike<number>;
}

/** Compares what a replay gave with the exact outputs, layer by layer. `numbers` are the layers' numbers in the model. */
export function outputError(
  replayed: readonly AttentionFigures[],
  exact: readonly ExactAttention[],
  numbers: readonly number[],
  sizes: CaptureSizes,
): OutputError {
  const { queryHeads, valueHeadDim, queries } = sizes;
  const place = { layer: numbers[0] as number, head: 0, position: positionOf(sizes, 0) };
  let worstRow = { ...place, value: -1 };
  let maxAbsError = { ...place, value: -1 };
  let worstHead = { layer: place.layer, head: 0, nmse: -1 };
  let worstLayer = { layer: place.layer, nmse: -1 };
  const layers: { layer: number; nmse: number; heads: number[] }[] = [];
  const drift = { sum: 0, max: 0, count: 0 };
  for (const [i, { output, logSumExp }] of replayed.entries()) {
    const layer = numbers[i] as number;
    const truth = exact[i] as ExactAttention;
    const heads: ErrorSum[][] = Array.from({ length: queryHeads }, () => []);
    for (let row = 0; row < queries * queryHeads; row++) {
      const head = row % queryHeads;
      const position = positionOf(sizes, Math.floor(row / queryHeads));
      const first = row * valueHeadDim;
      const sum = errorSum(output, truth.output, first, first + valueHeadDim);
      heads[head]?.push(sum);
      const value = nmseOf(sum);
      if (isWorse(value, worstRow.value)) worstRow = { layer, head, position, value };
      for (let c = first; c < first + valueHeadDim; c++) {
        const difference = Math.abs((output[c] as number) - (truth.output[c] as number));
        if (isWorse(difference, maxAbsError.value))
          maxAbsError = { layer, head, position, value: difference };
      }
      const shift = Math.abs((logSumExp[row] as number) - (truth.logSumExp[row] as number));
      drift.sum += shift;
      drift.count++;
      if (isWorse(shift, drift.max)) drift.max = shift;
    }
    const headSums = heads.map(addSums);
    for (const [head, sum] of headSums.entries()) {
      const nmse = nmseOf(sum);
      if (isWorse(nmse, worstHead.nmse)) worstHead = { layer, head, nmse };
    }
    const nmse = nmseOf(addSums(headSums));
    if (isWorse(nmse, worstLayer.nmse)) worstLayer = { layer, nmse };
    layers.push({ layer, nmse, heads: headSums.map(nmseOf) });
  }
  return {
    nmse: finiteOrNull(meanOf(layers.map(({ nmse }) => nmse))),
    worstLayer: { layer: worstLayer.layer, nmse: finiteOrNull(worstLayer.nmse) },
    worstHead: { ...worstHead, nmse: finiteOrNull(worstHead.nmse) },
    worstRow: { ...worstRow, value: finiteOrNull(worstRow.value) },
    maxAbsError: { ...maxAbsError, value: finiteOrNull(maxAbsError.value) },
    logSumExp: { mean: finiteOrNull(drift.sum / drift.count), max: finiteOrNull(drift.max) },
    layers: layers.map(({ layer, nmse, heads }) => ({
      layer,
      nmse: finiteOrNull(nmse),
      heads: heads.map(finiteOrNull),
    })),
  };
}
