/**
 * What the attention graph takes of one tensor beside its pages.
 *
 * Every stream of tokens starts with a zero entry that no query sees, so that nothing the graph multiplies or reduces is
 * empty: matrix products over nothing end the process in ONNX Runtime 1.30.
 */
import type { TensorPlan } from '@lowbit-kv/core';
import { measuredTransforms } from '../packed-plan.js';
import type { Value } from './builder.js';
import type { Order } from './dequantize.js';
import type { Operations } from './operations.js';

export function tokenInput(o: Operations, { tensor, heads, headDim }: TensorPlan): Value {
  return o.graph.input(
    `${tensor}_tokens`,
    'float16',
    [`${tensor}_tokens`, heads, headDim],
    'Tokens that are not packed.',
  );
}

/** f16 `[measured transforms, heads, headDim]`; null when nothing is measured on the sequence. */
export function statisticsInput(o: Operations, plan: TensorPlan): Value | null {
  const { tensor, heads, headDim } = plan;
  const planes = measuredTransforms(plan).length;
  if (planes === 0) return null;
  return o.graph.input(
    `${tensor}_statistics`,
    'float16',
    [planes, heads, headDim],
    'Statistics of the sequence.',
  );
}

export function zeroEntry(o: Operations, { heads, headDim }: TensorPlan, order: Order): Value {
  const dims = order === 'channels,tokens' ? [heads, headDim, 1] : [heads, 1, headDim];
  return o.graph.constant('float32', Array(heads * headDim).fill(0), dims);
}

/** Indices into a stream that starts with a zero entry, with one for that entry in front. */
export function behindZero(o: Operations, indices: Value): Value {
  return o.concat([o.graph.constant('int64', [0]), o.add(indices, 1)], 0);
}
