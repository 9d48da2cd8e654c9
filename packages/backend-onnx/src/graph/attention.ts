/**
 * The decode-attention graph of one layer: canonical pages, f16 tokens and queries in, attention out. Logits, softmax and
 * sums are f64. docs/graphs.md lists its inputs and outputs.
 *
 * Every stream starts with a zero entry that no query sees, so that nothing the graph multiplies or reduces is empty:
 * matrix products over nothing end the process in ONNX Runtime 1.30.
 */
import type { LayerGeometry, LayerPlan, TensorPlan } from '@lowbit-kv/core';
import { channelScaleOf, isPacked } from '../packed-plan.js';
import { GraphBuilder, type Value } from './builder.js';
import { dequantizePages, type Order } from './dequantize.js';
import { Operations } from './operations.js';

const LARGEST_F16 = 65504;
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

  // Query heads that share a kv head become rows of one matrix.
  const split = o.reshape(o.cast(query, 'float64'), [-1, kvHeads, group, keyHeadDim]);
  const queryMatrix: QueryMatrix = {
    rows: o.reshape(o.transpose(split, [1, 0, 2, 3]), [kvHeads, -1, keyHeadDim]),
    columns: o.reshape(o.transpose(split, [1, 3, 0, 2]), [kvHeads, keyHeadDim, -1]),
  };
  const dots = o.gather(keyDots(o, layer, queryMatrix), behindZero(o, keyIndex), 2);
  const logits = capped(o, o.multiply(dots, geometry.scale), geometry.softCap);
  const allPositions = o.concat([graph.constant('int64', [NEVER_VISIBLE]), positions], 0);
  const visible = visibleMask(o, allPositions, queryPositions, group, geometry.slidingWindow);
  const { weights, total, logSumExp } = softmax(o, logits, visible);

  const values = o.cast(o.gather(valueTokens(o, layer), behindZero(o, valueIndex), 1), 'float64');
  const sums = o.matrixProduct(weights, values);
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

/** Indices into a stream that starts with a zero entry, with one for that entry in front. */
function behindZero(o: Operations, indices: Value): Value {
  return o.concat([o.graph.constant('int64', [0]), o.add(indices, 1)], 0);
}

/**
 * The queries twice, `[kvHeads, rows, headDim]` and `[kvHeads, headDim, rows]`: a transposition in front of a product is
 * fused in ONNX Runtime 1.20 into an operator that has no f64 kernel.
 */
interface QueryMatrix {
  readonly rows: Value;
  readonly columns: Value;
}

/** f64 dot products `[kvHeads, rows, 1 + tokens]` with the zero entry, the f16 keys, then the packed ones. */
function keyDots(o: Operations, layer: LayerPlan, query: QueryMatrix): Value {
  const { key } = layer;
  const tokens = o.transpose(o.cast(tokenInput(o, key), 'float32'), [1, 0, 2]);
  const loose = [zeroEntry(o, key, 'tokens,channels'), tokens];
  const plain = dotProducts(o, query, loose, 'tokens,channels');
  if (!isPacked(key)) return plain;
  const folded = channelScaleOf(key) === undefined ? query : foldScale(o, key, query);
  // Keys stay in the order they come in: moving the products afterwards costs less.
  const order = key.layout.codes.rows === 'channels' ? 'channels,tokens' : 'tokens,channels';
  const packed = [dequantizePages(o, key, order), zeroEntry(o, key, order)];
  return o.concat([plain, dotProducts(o, folded, packed, order)], 2);
}

/** Packed keys were multiplied by r, so the query takes 1 / r, rounded to f32. */
function foldScale(o: Operations, key: TensorPlan, { rows, columns }: QueryMatrix): QueryMatrix {
  const { heads, headDim } = key;
  const reciprocals = o.graph.input(
    'key_reciprocals',
    'float16',
    [heads, headDim],
    'Reciprocal channel scale of the sequence.',
  );
  const inverse = o.divide(o.scalar('float32', 1), o.cast(reciprocals, 'float32'));
  const factors = o.cast(inverse, 'float64');
  return {
    rows: o.multiply(rows, o.reshape(factors, [heads, 1, headDim])),
    columns: o.multiply(columns, o.reshape(factors, [heads, headDim, 1])),
  };
}

/** f64 `[kvHeads, rows, tokens]`. */
function dotProducts(
  o: Operations,
  query: QueryMatrix,
  keys: readonly Value[],
  order: Order,
): Value {
  if (order === 'channels,tokens')
    return o.matrixProduct(query.rows, o.cast(o.concat(keys, 2), 'float64'));
  const products = o.matrixProduct(o.cast(o.concat(keys, 1), 'float64'), query.columns);
  return o.transpose(products, [0, 2, 1]);
}

function zeroEntry(o: Operations, { heads, headDim }: TensorPlan, order: Order): Value {
  const dims = order === 'channels,tokens' ? [heads, headDim, 1] : [heads, 1, headDim];
  return o.graph.constant('float32', Array(heads * headDim).fill(0), dims);
}

/** f32 `[kvHeads, 1 + tokens, headDim]`: the zero entry, the f16 values, then the packed ones. */
function valueTokens(o: Operations, layer: LayerPlan): Value {
  const { value } = layer;
  const tokens = o.transpose(o.cast(tokenInput(o, value), 'float32'), [1, 0, 2]);
  // A non-finite value must not reach queries that do not see it: 0 times infinity is not 0.
  const finite = o.select(o.atMost(o.absolute(tokens), LARGEST_F16), tokens, 0);
  const packed = isPacked(value) ? [dequantizePages(o, value, 'tokens,channels')] : [];
  return o.concat([zeroEntry(o, value, 'tokens,channels'), finite, ...packed], 1);
}

function tokenInput(o: Operations, plan: TensorPlan): Value {
  const { tensor, heads, headDim } = plan;
  return o.graph.input(
    `${tensor}_tokens`,
    'float16',
    [`${tensor}_tokens`, heads, headDim],
    'Tokens that are not packed.',
  );
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
