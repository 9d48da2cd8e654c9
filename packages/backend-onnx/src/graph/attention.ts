/**
 * The decode-attention graph of one layer: canonical pages, f16 tokens and queries in, attention out. Logits, softmax and
 * sums are f64. docs/graphs.md lists its inputs and outputs.
 */
import type { LayerGeometry, LayerPlan } from '@lowbit-kv/core';
import { GraphBuilder, type Value } from './builder.js';
import { keyDots } from './key-dots.js';
import { Operations } from './operations.js';
import { behindZero } from './streams.js';
import { valueSums } from './value-sums.js';

const NEVER_VISIBLE = Number.MAX_SAFE_INTEGER;

export function buildAttentionGraph(
  layer: LayerPlan,
  metadata: Readonly<Record<string, string>>,
): Uint8Array {
  const { geometry } = layer;
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = geometry;
  const graph = new GraphBuilder('attention');
  const o = new Operations(graph);
  const group = queryHeads / kvHeads;

  const query = graph.input('query', 'float32', ['queries', queryHeads, keyHeadDim], 'Queries.');
  const positions = graph.input(
    'positions',
    'int64',
    ['columns'],
    'Position of each cached token in its sequence.',
  );
  const keyIndex = graph.input(
    'key_index',
    'int64',
    ['columns'],
    'Where its key is: key tokens, then the slots of all key pages.',
  );
  const valueIndex = graph.input(
    'value_index',
    'int64',
    ['columns'],
    'Where its value is: value tokens, then the slots of all value pages.',
  );
  const queryPositions = graph.input(
    'query_positions',
    'int64',
    ['queries'],
    'Position of each query in the sequence.',
  );

  // Query heads that share a kv head are rows over the kv heads.
  const split = o.reshape(o.cast(query, 'float64'), [-1, kvHeads, group, keyHeadDim]);
  const rows = o.reshape(o.transpose(split, [0, 2, 1, 3]), [-1, kvHeads, keyHeadDim]);
  const columns = {
    places: behindZero(o, keyIndex),
    positions: o.concat([graph.constant('int64', [0]), positions], 0),
  };
  const dots = keyDots(o, layer, rows, columns);
  const logits = capped(o, o.multiply(dots, geometry.scale), geometry.softCap);
  const allPositions = o.concat([graph.constant('int64', [NEVER_VISIBLE]), positions], 0);
  const visible = visibleMask(o, allPositions, queryPositions, group, geometry.slidingWindow);
  const { weights, total, logSumExp } = softmax(o, logits, visible);

  const sums = valueSums(o, layer.value, weights, valueIndex);
  const output = o.divide(sums, o.select(o.equal(total, 0), 1, total));
  const byQuery = (value: Value, dim: number) =>
    o.transpose(o.reshape(value, [kvHeads, -1, group, dim]), [1, 0, 2, 3]);
  graph.output(
    'output',
    o.cast(o.reshape(byQuery(output, valueHeadDim), [-1, queryHeads, valueHeadDim]), 'float32'),
    ['queries', queryHeads, valueHeadDim],
    'Attention; zeros where nothing is visible.',
  );
  graph.output(
    'log_sum_exp',
    o.cast(o.reshape(byQuery(logSumExp, 1), [-1, queryHeads]), 'float32'),
    ['queries', queryHeads],
    'Natural logarithm of the sum of exponentials; -Infinity where nothing is visible.',
  );
  return graph.build(metadata);
}

function capped(o: Operations, logits: Value, softCap: number | null): Value {
  if (softCap === null) return logits;
  return o.multiply(o.tangentHyperbolic(o.divide(logits, softCap)), softCap);
}

/** bool `[rows, columns]`: causal, and inside the sliding window or among its sinks. */
function visibleMask(
  o: Operations,
  positions: Value,
  queryPositions: Value,
  group: number,
  window: LayerGeometry['slidingWindow'],
): Value {
  const perQuery = o.concat(Array(group).fill(o.reshape(queryPositions, [-1, 1])), 1);
  const rows = o.reshape(perQuery, [-1, 1]);
  const causal = o.atMost(positions, rows);
  if (window === null) return causal;
  const recent = o.greater(positions, o.subtract(rows, window.size));
  return o.and(causal, o.or(recent, o.less(positions, window.sinks)));
}

/** Unnormalised weights `[kvHeads, rows, columns]`, their sums and the log-sum-exp; nothing visible sums to 0. */
function softmax(o: Operations, logits: Value, visible: Value) {
  const maximum = o.reduceMaximum(o.select(visible, logits, Number.NEGATIVE_INFINITY), [2]);
  const reference = o.select(o.equal(maximum, Number.NEGATIVE_INFINITY), 0, maximum);
  // Masked after the exponential as well: that of -Infinity is not 0 in ONNX Runtime 1.20.
  const weights = o.select(visible, o.exponential(o.subtract(logits, reference)), 0);
  const total = o.reduceSum(weights, [2]);
  // The logarithm of a sum of 0 is -Infinity by itself.
  return { weights, total, logSumExp: o.add(reference, o.logarithm(total)) };
}
