/**
 * The statistics graph of one tensor: f16 tokens in, one plane of f16 values per transform that is measured on the
 * sequence out. Each is measured on tokens to which the transforms before it have been applied.
 */
import type { TensorPlan } from '@lowbit-kv/core';
import { isMeasured, type MeasuredTransform, transformsOf } from '../packed-plan.js';
import { GraphBuilder, type Value } from './builder.js';
import { Operations } from './operations.js';
import { pairwiseSum } from './pairwise-sum.js';
import { f16Neighbour, roundOffset, roundToF16 } from './rounding.js';
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
  const planes: Value[] = [];
  for (const transform of transformsOf(plan)) {
    const measured = isMeasured(transform) ? measure(o, transform, values, tokens, headDim) : null;
    if (measured !== null) planes.push(measured);
    values = transformTokens(o, [stepOf(o, plan, transform, measured)], values);
  }
  graph.output(
    'statistics',
    o.cast(o.concat(planes, 0), 'float16'),
    [planes.length, heads, headDim],
    'A plane per measured transform: means, and reciprocals of channel scales.',
  );
  return graph.build(metadata);
}

/** f32 `[1, heads, headDim]` that f16 holds exactly. */
function measure(
  o: Operations,
  transform: MeasuredTransform,
  values: Value,
  tokens: number,
  headDim: number,
): Value {
  switch (transform.kind) {
    case 'channelMean':
      return channelMeans(o, values, tokens);
    case 'channelScale':
      return channelReciprocals(o, values, transform, headDim);
    default:
      throw new TypeError(`the transform ${transform.kind} is not measured here`);
  }
}

/** Sum over the tree of tokens, times 1 / n; NaN counts as 0. */
function channelMeans(o: Operations, values: Value, tokens: number): Value {
  const numbers = o.select(o.isNaN(values), 0, values);
  const sum = pairwiseSum(o, numbers, { rank: 3, axis: 0, count: tokens });
  return roundOffset(o, o.multiply(sum, 1 / tokens));
}

/** 1 / sqrt(max |x|) per head and channel, rounded to f16 exactly. */
function channelReciprocals(
  o: Operations,
  values: Value,
  rule: ChannelScale,
  headDim: number,
): Value {
  const magnitudes = o.absolute(values);
  const numbers = o.select(o.isNaN(magnitudes), 0, magnitudes);
  const largest = o.cast(o.reduceMaximum(numbers, [0]), 'float64');
  const limited = o.minimum(o.maximum(largest, rule.clamp[0] ** 2), rule.clamp[1] ** 2);
  const reciprocals = o.select(o.equal(largest, 0), 1, reciprocalRoot(o, limited));
  return onesWithoutSpread(o, reciprocals, headDim, rule.minimumSpread);
}

/** f32: the f16 nearest to 1 / sqrt(m). r is nearest when the squares of the middles to its neighbours enclose 1 / m. */
function reciprocalRoot(o: Operations, m: Value): Value {
  const one = o.scalar('float64', 1);
  const guess = roundToF16(o, o.cast(o.divide(one, o.squareRoot(m)), 'float32'));
  const below = f16Neighbour(o, guess, -1);
  const above = f16Neighbour(o, guess, 1);
  const scaledSquare = (a: Value, b: Value) => {
    const middle = o.multiply(o.add(o.cast(a, 'float64'), o.cast(b, 'float64')), 0.5);
    return o.multiply(o.multiply(middle, middle), m);
  };
  const tooLarge = o.greater(scaledSquare(guess, below), 1);
  const tooSmall = o.less(scaledSquare(guess, above), 1);
  return o.select(tooLarge, below, o.select(tooSmall, above, guess));
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
