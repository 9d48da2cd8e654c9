/**
 * What is measured: operations at shapes.
 */
import type { BenchOperation, BenchShape } from './report.js';

/** Every combination is a shape. */
export interface BenchQuestion {
  readonly operations: readonly BenchOperation[];
  readonly batches: readonly number[];
  readonly contexts: readonly number[];
  /** New tokens of each sequence in a decode step: several when a draft is checked. */
  readonly tokens: readonly number[];
  readonly heads: readonly { readonly queryHeads: number; readonly kvHeads: number }[];
  readonly headDims: readonly number[];
}

export interface BenchCase {
  readonly operation: BenchOperation;
  readonly shape: BenchShape;
}

/** Each once: a prompt is packed for one sequence, and appending does not depend on the context. */
export function benchCases(question: BenchQuestion): BenchCase[] {
  const { operations, batches, contexts, tokens } = question;
  const geometries = question.heads.flatMap((heads) =>
    question.headDims.map((headDim) => ({ ...heads, headDim })),
  );
  const casesOf = (geometry: (typeof geometries)[number]): BenchCase[] => {
    const each = (
      operation: BenchOperation,
      shapes: Pick<BenchShape, 'batch' | 'context' | 'tokens'>[],
    ) =>
      operations.includes(operation)
        ? shapes.map((shape) => ({ operation, shape: { ...shape, ...geometry } }))
        : [];
    const steps = batches.flatMap((batch) => tokens.map((count) => ({ batch, tokens: count })));
    return [
      ...each(
        'pack',
        contexts.map((context) => ({ batch: 1, context, tokens: context })),
      ),
      ...each(
        'append',
        steps.map((step) => ({ ...step, context: null })),
      ),
      ...each(
        'attend',
        steps.flatMap((step) => contexts.map((context) => ({ ...step, context }))),
      ),
    ];
  };
  return geometries.flatMap(casesOf);
}

/** Sequence `i` is a little shorter than `context` and seldom ends at a page; none has fewer than `least` tokens. */
export function raggedLengths(context: number, batch: number, least = 1): number[] {
  return Array.from({ length: batch }, (_, i) => {
    const shorter = Math.min(29 + 62 * i, Math.floor(context / 4) + i);
    return Math.max(least, context - shorter);
  });
}

/** `attend, 8 x 32K, 1 token, 32/8 heads of 128`: for progress and messages. */
export function caseText({ operation, shape }: BenchCase): string {
  const { batch, context, tokens, queryHeads, kvHeads, headDim } = shape;
  const held = context === null ? '' : ` x ${context}`;
  return `${operation}, ${batch}${held}, ${tokens} new, ${queryHeads}/${kvHeads} heads of ${headDim}`;
}
