/**
 * What a sequence must answer by its model: stored values of a layer, and attention over them in float64.
 */
import { decodeF16 } from '../float16.js';
import { type ModelLayer, modelLayers } from '../plan/model-layers.js';
import type { Plan, TensorPlan } from '../plan/plan.js';
import type { HostTensor } from '../tensor.js';
import {
  type ReferenceAttentionResult,
  referenceAttention,
} from '../testing/reference-attention.js';
import { rotateKeys } from '../testing/rotary.js';
import type { SequenceModel } from './sequence-model.js';
import { HEADS, KEY_DIM, QUERY_HEADS, VALUE_DIM } from './setups.js';

export type TensorName = 'key' | 'value';

export class Expected {
  readonly layers: readonly ModelLayer[];

  constructor(plan: Plan) {
    this.layers = modelLayers(plan);
  }

  /** f32 `[length, HEADS, headDim]` of a layer as attention over committed tokens sees it. */
  values(model: SequenceModel, layer: number, tensor: TensorName): Float32Array {
    return this.#joined(layer, tensor, model.length, (plan, unit) => model.values(plan, unit));
  }

  /** What the attention of a step sees that turns `old` into `next`. */
  valuesInStep(
    old: SequenceModel,
    next: SequenceModel,
    layer: number,
    tensor: TensorName,
    packsBefore: boolean,
  ): Float32Array {
    if (packsBefore) return this.values(next, layer, tensor);
    return this.#joined(layer, tensor, next.length, (plan, unit) =>
      withTail(old, next, plan, unit),
    );
  }

  /** Of the last `queries` tokens; `query` is f32 `[queries, QUERY_HEADS, KEY_DIM]`. */
  attention(
    layer: number,
    query: HostTensor['data'],
    span: { readonly queries: number; readonly length: number },
    keys: Float32Array,
    values: Float32Array,
  ): ReferenceAttentionResult {
    const { rotary, slidingWindow, softCap, scale } = this.layer(layer).geometry;
    const shape = { tokens: span.length, kvHeads: HEADS, keyDim: KEY_DIM };
    return referenceAttention({
      keys: rotary === null ? keys : rotateKeys(keys, shape, rotary),
      values,
      queries: query,
      tokens: span.length,
      queryTokens: span.queries,
      queryHeads: QUERY_HEADS,
      kvHeads: HEADS,
      keyDim: KEY_DIM,
      valueDim: VALUE_DIM,
      scale,
      ...(slidingWindow === null ? {} : { slidingWindow }),
      ...(softCap === null ? {} : { logitSoftCap: softCap }),
    });
  }

  layer(layer: number): ModelLayer {
    return this.layers[layer] as ModelLayer;
  }

  /** Puts together what `valuesOf` gives for each unit, `[length, heads, headDim]`. */
  #joined(
    layer: number,
    tensor: TensorName,
    length: number,
    valuesOf: (plan: TensorPlan, unit: number) => Float32Array,
  ): Float32Array {
    const dim = tensor === 'key' ? KEY_DIM : VALUE_DIM;
    const result = new Float32Array(length * HEADS * dim);
    for (const { index, plan } of this.layer(layer).units) {
      const values = valuesOf(plan[tensor], index);
      for (let token = 0; token < length; token++) {
        for (const [i, head] of plan.heads.entries()) {
          const from = (token * plan.heads.length + i) * dim;
          result.set(values.subarray(from, from + dim), (token * HEADS + head) * dim);
        }
      }
    }
    return result;
  }
}

/** What a step that packs after its attention sees: packed as before, its own tokens and the old tail in f16. */
function withTail(
  old: SequenceModel,
  next: SequenceModel,
  plan: TensorPlan,
  layer: number,
): Float32Array {
  const rows = next.tokens[layer] ?? [];
  const width = plan.heads * plan.headDim;
  const values = new Float32Array(rows.length * width);
  for (const [i, row] of rows.entries()) values.set(decodeF16(row[plan.tensor]), i * width);
  values.set(old.values(plan, layer));
  return values;
}
