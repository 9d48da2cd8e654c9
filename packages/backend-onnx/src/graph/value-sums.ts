/**
 * Weighted sums of cached values: f16 values and packed ones are summed apart where transforms have to be undone.
 */
import { type TensorPlan, transformsOf } from '@lowbit-kv/core';
import { isPacked } from '../packed-plan.js';
import type { Value } from './builder.js';
import { dequantizePages } from './dequantize.js';
import type { Operations } from './operations.js';
import { LARGEST_F16 } from './rounding.js';
import { behindZero, statisticsInput, tokenInput, zeroEntry } from './streams.js';
import { invertSums, transformSteps } from './transforms.js';

/** f64 `[kvHeads, rows, headDim]` of weights `[kvHeads, rows, 1 + columns]`; `index` says where each column is. */
export function valueSums(o: Operations, value: TensorPlan, weights: Value, index: Value): Value {
  const tokens = tokenInput(o, value);
  const places = behindZero(o, index);
  const values = o.cast(o.gather(valueStream(o, value, tokens), places, 1), 'float64');
  if (!isPacked(value) || transformsOf(value).length === 0) return o.matrixProduct(weights, values);
  const looseCount = o.slice(o.graph.node('Shape', 'int64', [tokens]), 0, 0, 1);
  const packed = o.greater(places, looseCount);
  const packedWeights = o.select(packed, weights, 0);
  const looseSums = o.matrixProduct(o.select(packed, 0, weights), values);
  const rowsFirst = (sums: Value) => o.transpose(sums, [1, 0, 2]);
  const inverted = invertSums(
    transformSteps(o, value, statisticsInput(o, value)),
    rowsFirst(o.matrixProduct(packedWeights, values)),
    rowsFirst(o.reduceSum(packedWeights, [2])),
  );
  return o.add(looseSums, o.transpose(inverted, [1, 0, 2]));
}

/** f32 `[kvHeads, 1 + tokens, headDim]`: the zero entry, the f16 values, then the packed ones. */
function valueStream(o: Operations, value: TensorPlan, tokens: Value): Value {
  const loose = o.transpose(o.cast(tokens, 'float32'), [1, 0, 2]);
  // A non-finite value must not reach queries that do not see it: 0 times infinity is not 0.
  const finite = o.select(o.atMost(o.absolute(loose), LARGEST_F16), loose, 0);
  const packed = isPacked(value) ? [dequantizePages(o, value, 'tokens,channels')] : [];
  return o.concat([zeroEntry(o, value, 'tokens,channels'), finite, ...packed], 1);
}
