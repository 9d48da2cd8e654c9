/**
 * The transforms of one tensor: what packing does to tokens, and what attention does to queries and sums instead of
 * undoing it token by token. All of them are `[rows, heads, headDim]`.
 */
import type { TensorPlan, Transform } from '@lowbit-kv/core';
import { isMeasured, transformsOf } from '../packed-plan.js';
import type { Value } from './builder.js';
import type { Operations } from './operations.js';
import { rotateByButterflies, rotateByMatrix, rotationSigns } from './rotation.js';

/** A transform with its values, f32 `[1, heads, headDim]`; factors are what cancels reciprocals. */
export type Step =
  | { readonly kind: 'scale'; readonly reciprocals: Value; readonly factors: () => Value }
  | { readonly kind: 'mean'; readonly means: Value }
  | { readonly kind: 'rotation'; readonly headDim: number; readonly signs: Value | null };

/** The steps of a tensor in the order of packing; `statistics` is f16 `[measured transforms, heads, headDim]`. */
export function transformSteps(o: Operations, plan: TensorPlan, statistics: Value | null): Step[] {
  let plane = 0;
  return transformsOf(plan).map((transform) => {
    if (statistics === null || !isMeasured(transform)) return stepOf(o, plan, transform, null);
    const values = o.slice(o.cast(statistics, 'float32'), 0, plane, ++plane);
    return stepOf(o, plan, transform, values);
  });
}

/** `measured` are the f32 values `[1, heads, headDim]` that a statistics page holds for it. */
export function stepOf(
  o: Operations,
  { headDim }: TensorPlan,
  transform: Transform,
  measured: Value | null,
): Step {
  if (transform.kind === 'hadamard') {
    const { seed } = transform;
    const signs =
      seed === undefined ? null : o.graph.constant('float32', rotationSigns(seed, headDim));
    return { kind: 'rotation', headDim, signs };
  }
  if (measured === null) throw new TypeError(`no values for the transform ${transform.kind}`);
  if (transform.kind === 'channelMean') return { kind: 'mean', means: measured };
  return {
    kind: 'scale',
    reciprocals: measured,
    factors: () => o.divide(o.scalar('float32', 1), measured),
  };
}

/** Packing: f32, one rounding per operation. */
export function transformTokens(o: Operations, steps: readonly Step[], tokens: Value): Value {
  return steps.reduce((values, step) => {
    if (step.kind === 'rotation')
      return rotateByButterflies(o, signed(o, values, step.signs), step.headDim);
    if (step.kind === 'mean') return o.subtract(values, step.means);
    return o.multiply(values, step.reciprocals);
  }, tokens);
}

export interface FoldedQuery {
  /** f64 `[rows, heads, headDim]`: what meets transformed keys. */
  readonly query: Value;
  /** f64 `[rows, heads, 1]`, added to each of its dot products; null for nothing. */
  readonly added: Value | null;
}

/** The query that meets transformed keys as the query itself meets plain ones. */
export function foldQuery(o: Operations, steps: readonly Step[], plain: Value): FoldedQuery {
  let query = plain;
  let added: Value | null = null;
  for (const step of steps) {
    if (step.kind === 'rotation')
      query = rotateByMatrix(o, signed(o, query, step.signs), step.headDim);
    else if (step.kind === 'scale') query = o.multiply(query, o.cast(step.factors(), 'float64'));
    else {
      const product = o.multiply(query, o.cast(step.means, 'float64'));
      const constant = o.reduceSum(product, [2]);
      added = added === null ? constant : o.add(added, constant);
    }
  }
  return { query, added };
}

/** Undoes the transforms of f64 sums of transformed values whose weights `[rows, heads, 1]` add up to `weight`. */
export function invertSums(
  o: Operations,
  steps: readonly Step[],
  sums: Value,
  weight: Value,
): Value {
  return steps.reduceRight((values, step) => {
    if (step.kind === 'rotation')
      return signed(o, rotateByMatrix(o, values, step.headDim), step.signs);
    if (step.kind === 'scale') return o.multiply(values, o.cast(step.factors(), 'float64'));
    return o.add(values, o.multiply(o.cast(step.means, 'float64'), weight));
  }, sums);
}

function signed(o: Operations, values: Value, signs: Value | null): Value {
  return signs === null ? values : o.multiply(values, o.cast(signs, values.type));
}
