/**
 * Outlier bands in the attention kernel that meets codes in integers: parts, memory, and how words of a page are met.
 */
import type { TensorPlan } from '@lowbit-kv/core';
import { hasLines } from './code-order.js';
import type { Constants, Piece } from './compose.js';
import { functionText } from './programs.js';

/** Sets that f32 numbers of 128 elements take, with one more. */
const HELD_SETS = 4;
/** Vectors of words of a page that a lane meets. */
const VECTORS = 16;
/** Sets of probabilities: with maxima of tokens, and without. */
const VALUE_SETS = 2;

/** Sets of the memory that takes turns: weights, and beside them what tokens decode by, or parts of probabilities. */
export const BAND_SETS = 2 * HELD_SETS;

/** Where parts lie; `spareSet`: the first set of the memory that takes turns. */
export function bandConstants(key: TensorPlan, value: TensorPlan, spareSet: number): Constants {
  return {
    ...(hasLines(key) && { key_sideSet: 0 }),
    ...(hasLines(value) && {
      value_sets: VALUE_SETS,
      value_firstSet: spareSet + HELD_SETS,
      value_sideSet: spareSet + HELD_SETS + 1,
    }),
  };
}

/** What both tensors share. */
export function bandPieces(key: TensorPlan, value: TensorPlan): Piece[] {
  return hasLines(key) || hasLines(value) ? ['integer-outlier-terms'] : [];
}

/** Of one tensor, beside its fields; `most`: vectors of words that are loaded at once. */
export function tensorBandPieces(plan: TensorPlan, most: number): Piece[] {
  const prefix = `${plan.tensor}_`;
  return [
    { part: 'integer-bands', prefix },
    { part: 'integer-outliers', prefix },
    ...(plan.tensor === 'key'
      ? (['integer-query-once', 'integer-keys-bands'] as const)
      : (['integer-values-bands'] as const)),
    { text: runText(prefix, most) },
  ];
}

/** Meets all words of a page. */
function runText(prefix: string, batch: number): string {
  const numbers = Array.from({ length: batch }, (_, j) => j);
  const zero = `${prefix}zeroSums()`;
  return functionText(`${prefix}run(page: u32, lane: u32) -> ${prefix}BandNumbers`, [
    `var sums = ${prefix}BandSums(${zero}, ${zero});`,
    // The end is no constant: compilers would unroll the loop.
    `for (var first = 0u; first < ${VECTORS}u + job.zero; first += ${batch}u) {`,
    ...numbers.map((j) => `let w${j} = ${prefix}memory[page + (first + ${j}u) * LANES + lane];`),
    ...numbers.map((j) => `${prefix}meetBands(&sums, w${j}, 2u * (first + ${j}u));`),
    '}',
    `return ${prefix}BandNumbers(${prefix}numbers(sums.codes), ${prefix}numbers(sums.sides));`,
  ]);
}
