/**
 * The transforms of one tensor: what packing does to tokens, and what attention does to queries and sums instead of
 * undoing it token by token. All of them are `[rows, heads, headDim]`.
 */
import {
  type CalibratedTransform,
  isMeasured,
  type TensorPlan,
  type Transform,
  transformsOf,
} from '@lowbit-kv/core';
import type { Value } from './builder.js';
import type { Operations } from './operations.js';
import { meanStep, orderStep, rotationStep, type Step, scaleStep } from './transform-steps.js';

/** The steps of a tensor in the order of packing; `statistics` is f16 `[measured transforms, heads, headDim]`. */
export function transformSteps(o: Operations, plan: TensorPlan, statistics: Value | null): Step[] {
  let plane = 0;
  return transformsOf(plan).map((transform) => {
    if (statistics === null || !isMeasured(transform)) return stepOf(o, plan, transform, null);
    const values = o.slice(o.cast(statistics, 'float32'), 0, plane, ++plane);
    return stepOf(o, plan, transform, values);
  });
}

/** `measured` are the f32 values `[1, heads, headDim]` that a statistics page holds for a measured transform. */
export function stepOf(
  o: Operations,
  plan: TensorPlan,
  transform: Transform,
  measured: Value | null,
): Step {
  if (transform.kind === 'hadamard') return rotationStep(o, plan.headDim, transform.seed);
  if (transform.scope === 'model') return calibratedStep(o, plan, transform);
  if (measured === null) throw new TypeError(`no values for the transform ${transform.kind}`);
  if (transform.kind === 'channelMean') return meanStep(o, measured);
  return scaleStep(o, measured, () => o.divide(o.scalar('float32', 1), measured));
}

/** Constants of the graph; the planner has checked that they are there. */
function calibratedStep(
  o: Operations,
  { heads, headDim, calibration }: TensorPlan,
  { kind }: CalibratedTransform,
): Step {
  const values = calibration ?? {};
  const constant = (channels: readonly number[]) =>
    o.graph.constant('float32', channels, [1, heads, headDim]);
  const scale = (factors: readonly number[], asValue: (channels: readonly number[]) => Value) =>
    scaleStep(o, asValue(factors.map((factor) => 1 / Math.fround(factor))), () => asValue(factors));
  switch (kind) {
    case 'tensorScale':
      return scale([required(values.tensorFactor)], (all) => o.graph.constant('float32', all));
    case 'channelScale':
      return scale(required(values.channelFactors).flat(), constant);
    case 'channelMean':
      return meanStep(o, constant(required(values.channelMeans).flat()));
    case 'channelOrder':
      return orderStep(o, required(values.channelOrder));
  }
}

function required<T>(value: T | undefined): T {
  if (value === undefined)
    throw new TypeError('a plan with calibrated transforms has their values');
  return value;
}

/** Packing: f32, one rounding per operation. */
export function transformTokens(steps: readonly Step[], tokens: Value): Value {
  return steps.reduce((values, step) => step.apply(values), tokens);
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
    const constant = step.addedTo?.(query);
    if (constant !== undefined) added = added === null ? constant : o.add(added, constant);
    query = step.foldInto(query);
  }
  return { query, added };
}

/** Undoes the transforms of f64 sums of transformed values whose weights `[rows, heads, 1]` add up to `weight`. */
export function invertSums(steps: readonly Step[], sums: Value, weight: Value): Value {
  return steps.reduceRight((values, step) => step.invert(values, weight), sums);
}
