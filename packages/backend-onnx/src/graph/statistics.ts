/**
 * The statistics graph: f16 tokens in, the reciprocal channel scale out.
 */
import type { SequenceChannelScale } from '../packed-plan.js';
import { GraphBuilder, type Value } from './builder.js';
import { Operations } from './operations.js';
import { f16Neighbour, roundToF16 } from './rounding.js';

/** r = 1 / sqrt(max |x|) per head and channel, rounded to f16 exactly. */
export function buildStatisticsGraph(
  heads: number,
  headDim: number,
  rule: SequenceChannelScale,
  metadata: Readonly<Record<string, string>>,
): Uint8Array {
  const graph = new GraphBuilder('statistics');
  const o = new Operations(graph);
  const tokens = graph.input('tokens', 'float16', ['tokens', heads, headDim], 'Tokens to measure.');
  const magnitudes = o.absolute(o.cast(tokens, 'float32'));
  const numbers = o.select(o.isNaN(magnitudes), 0, magnitudes);
  const largest = o.cast(o.reduceMaximum(numbers, [0], false), 'float64');
  const limited = o.minimum(o.maximum(largest, rule.clamp[0] ** 2), rule.clamp[1] ** 2);
  const reciprocals = o.select(o.equal(largest, 0), 1, reciprocalRoot(o, limited));
  const spread = onesWithoutSpread(o, reciprocals, headDim, rule.minimumSpread);
  const documentation = 'Reciprocal of the channel scale.';
  graph.output('reciprocals', o.cast(spread, 'float16'), [heads, headDim], documentation);
  return graph.build(metadata);
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
  const smallest = o.slice(rising, 1, 0, 1);
  const median = o.slice(rising, 1, half, half + 1);
  return o.select(o.less(median, o.multiply(smallest, minimumSpread)), 1, reciprocals);
}
