/**
 * The statistics graph of one tensor: f16 tokens in, one plane of f16 values per transform that is measured on the
 * sequence out. Each is measured on tokens to which the transforms before it have been applied.
 */
import { isMeasured, type MeasuredTransform, type TensorPlan, transformsOf } from '@lowbit-kv/core';
import { measuredTransforms } from '../packed-plan.js';
import { GraphBuilder, type Value } from './builder.js';
import { Operations } from './operations.js';
import { pairwiseSum } from './pairwise-sum.js';
import {
  LARGEST_F16,
  roundOffset,
  roundToF16,
  SMALLEST_NORMAL_F16,
  settleF16,
} from './rounding.js';
import { stepOf, transformTokens } from './transforms.js';

type ChannelScale = Extract<MeasuredTransform, { kind: 'channelScale' }>;

/** Measures exactly `tokens` tokens. */
export function buildStatisticsGraph(
  plan: TensorPlan,
  tokens: number,
  metadata: Readonly<Record<string, string>>,
): Uint8Array {
  const { heads, headDim } = plan;
  const graph = new GraphBuilder('statistics');
  const o = new Operations(graph);
  const input = graph.input('tokens', 'float16', [tokens, heads, headDim], 'Tokens to measure.');
  let values = o.cast(input, 'float32');
  const wanted = measuredTransforms(plan).length;
  const planes: Value[] = [];
  for (const transform of transformsOf(plan)) {
    const measured = isMeasured(transform)
      ? measure(o, transform, values, [tokens, heads, headDim])
      : null;
    if (measured !== null) planes.push(measured);
    if (planes.length === wanted) break;
    values = transformTokens([stepOf(o, plan, transform, measured)], values);
  }
  graph.output(
    'statistics',
    o.cast(o.concat(planes, 0), 'float16'),
    [planes.length, heads, headDim],
    'A plane per measured transform: means, and reciprocals of scales.',
  );
  return graph.build(metadata);
}

/** f32 `[1, heads, headDim]` that f16 holds exactly, from f32 `[tokens, heads, headDim]`. */
function measure(
  o: Operations,
  transform: MeasuredTransform,
  values: Value,
  [tokens, heads, headDim]: readonly [number, number, number],
): Value {
  switch (transform.kind) {
    case 'channelMean':
      return channelMeans(o, values, tokens, transform.minimumOffset ?? 0);
    case 'channelScale':
      return channelReciprocals(o, values, transform, headDim);
    case 'tensorScale': {
      const shape = o.graph.constant('int64', [1, heads, headDim]);
      const inputs = [tensorReciprocal(o, values, transform.largest), shape];
      return o.graph.node('Expand', 'float32', inputs);
    }
  }
}

/** The mean of each channel, or 0 where it is less than `minimumOffset` mean absolute deviations. */
function channelMeans(o: Operations, values: Value, tokens: number, minimumOffset: number): Value {
  const means = roundOffset(o, average(o, values, tokens));
  if (minimumOffset === 0) return means;
  const deviations = average(o, o.absolute(o.subtract(values, means)), tokens);
  const clear = o.atLeast(o.absolute(means), o.multiply(deviations, minimumOffset));
  return o.select(clear, means, 0);
}

/** Sum over the tree of tokens, times 1 / n; what is not finite counts as 0. */
function average(o: Operations, values: Value, tokens: number): Value {
  const numbers = o.select(finiteMask(o, values), values, 0);
  const sum = pairwiseSum(o, numbers, { rank: 3, axis: 0, count: tokens });
  return o.multiply(sum, 1 / tokens);
}

/** `[1, 1, 1]`: the f16 nearest to `largest` / max |x|, a normal number; 1 where all are 0. */
function tensorReciprocal(o: Operations, values: Value, largest: number): Value {
  const maximum = largestMagnitude(o, values, [0, 1, 2]);
  const wanted = Math.fround(largest);
  const within = (value: Value) => o.maximum(o.minimum(value, LARGEST_F16), SMALLEST_NORMAL_F16);
  const quotient = within(o.divide(o.scalar('float64', wanted), maximum));
  const nearest = settleF16(o, roundToF16(o, o.cast(quotient, 'float32')), (middle) =>
    o.subtract(o.multiply(middle, maximum), wanted),
  );
  return o.select(o.equal(maximum, 0), 1, within(nearest));
}

/** f64, of what is finite. */
function largestMagnitude(o: Operations, values: Value, axes: readonly number[]): Value {
  const numbers = o.select(finiteMask(o, values), o.absolute(values), 0);
  return o.cast(o.reduceMaximum(numbers, axes), 'float64');
}

function finiteMask(o: Operations, values: Value): Value {
  return o.less(o.absolute(values), Number.POSITIVE_INFINITY);
}

/** 1 / sqrt(max |x|) per head and channel, rounded to f16 exactly. */
function channelReciprocals(
  o: Operations,
  values: Value,
  rule: ChannelScale,
  headDim: number,
): Value {
  const largest = largestMagnitude(o, values, [0]);
  const limited = o.minimum(o.maximum(largest, rule.clamp[0] ** 2), rule.clamp[1] ** 2);
  const reciprocals = o.select(o.equal(largest, 0), 1, reciprocalRoot(o, limited));
  return onesWithoutSpread(o, reciprocals, headDim, rule.minimumSpread);
}

/** f32: the f16 nearest to 1 / sqrt(m). */
function reciprocalRoot(o: Operations, m: Value): Value {
  const guess = roundToF16(o, o.cast(o.divide(o.scalar('float64', 1), o.squareRoot(m)), 'float32'));
  return settleF16(o, guess, (middle) => o.subtract(o.multiply(o.multiply(middle, middle), m), 1));
}

/** 1 for a whole head whose largest n is less than `minimumSpread` times its (lower) median. */
function onesWithoutSpread(
  o: Operations,
  reciprocals: Value,
  headDim: number,
  minimumSpread: number,
): Value {
  const half = Math.floor(headDim / 2);
  const rising = o.graph.node(
    'TopK',
    'float32',
    [reciprocals, o.graph.constant('int64', [half + 1])],
    { axis: -1, largest: 0, sorted: 1 },
    2,
  );
  const smallest = o.slice(rising, 2, 0, 1);
  const median = o.slice(rising, 2, half, half + 1);
  return o.select(o.less(median, o.multiply(smallest, minimumSpread)), 1, reciprocals);
}
