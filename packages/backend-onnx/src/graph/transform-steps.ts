/**
 * One transform with its values. Tokens, queries and sums are `[rows, heads, headDim]`; packing is f32 with one rounding per
 * operation, attention f64.
 */
import type { Value } from './builder.js';
import type { Operations } from './operations.js';
import { rotateByButterflies, rotateByMatrix, rotationSigns } from './rotation.js';

export interface Step {
  /** What packing does to tokens. */
  apply(tokens: Value): Value;
  /** Queries that meet transformed keys. */
  foldInto(query: Value): Value;
  /** What each dot product of a query (before `foldInto`) lacks, `[rows, heads, 1]`; absent for nothing. */
  readonly addedTo?: (query: Value) => Value;
  /** Undoes the transform of sums of transformed tokens whose weights `[rows, heads, 1]` add up to `weight`. */
  invert(sums: Value, weight: Value): Value;
}

/** `factors` f32 cancel what packing multiplies with, both `[1, heads, headDim]` or `[1]`. */
export function scaleStep(o: Operations, reciprocals: Value, factors: () => Value): Step {
  const multiplied = (values: Value) => o.multiply(values, o.cast(factors(), 'float64'));
  return {
    apply: (tokens) => o.multiply(tokens, reciprocals),
    foldInto: multiplied,
    invert: multiplied,
  };
}

/** f32 `[1, heads, headDim]`. */
export function meanStep(o: Operations, means: Value): Step {
  const wide = () => o.cast(means, 'float64');
  return {
    apply: (tokens) => o.subtract(tokens, means),
    foldInto: (query) => query,
    addedTo: (query) => o.reduceSum(o.multiply(query, wide()), [2]),
    invert: (sums, weight) => o.add(sums, o.multiply(wide(), weight)),
  };
}

export function rotationStep(o: Operations, headDim: number, seed: number | undefined): Step {
  const signs = seed === undefined ? null : rotationSigns(seed, headDim);
  const signed = (values: Value) =>
    signs === null ? values : o.multiply(values, o.graph.constant(values.type, signs));
  return {
    apply: (tokens) => rotateByButterflies(o, signed(tokens), headDim),
    foldInto: (query) => rotateByMatrix(o, signed(query), headDim),
    invert: (sums) => signed(rotateByMatrix(o, sums, headDim)),
  };
}

/** Channel c of head h of the result is channel `order[h][c]`. */
export function orderStep(o: Operations, order: readonly (readonly number[])[]): Step {
  const reorder = (values: Value) => gatherChannels(o, values, order);
  const inverse = () => order.map((channels) => channels.map((_, c) => channels.indexOf(c)));
  return {
    apply: reorder,
    foldInto: reorder,
    invert: (sums) => gatherChannels(o, sums, inverse()),
  };
}

function gatherChannels(
  o: Operations,
  values: Value,
  order: readonly (readonly number[])[],
): Value {
  const headDim = (order[0] as readonly number[]).length;
  const places = order.flatMap((channels, head) => channels.map((c) => head * headDim + c));
  const flat = o.reshape(values, [-1, places.length]);
  const gathered = o.gather(flat, o.graph.constant('int64', places), 1);
  return o.reshape(gathered, [-1, order.length, headDim]);
}
