/**
 * Replays decoding of a capture through a real cache: each query attends in the step that appends its token, over
 * exactly the state that decoding would have then.
 */

import type { Pause } from '@lowbit-kv/core';
import {
  type AttentionResult,
  type Backend,
  type Cache,
  createCache,
  f16Tensor,
  f32Tensor,
  type HostTensor,
  type LayerInput,
  LowbitKvError,
  type Plan,
  type Sequence,
} from '@lowbit-kv/core';
import type { CaptureData } from './capture-data.js';
import { type LayerTensors, positionOf } from './capture-layers.js';
import { keysAt, type Stage, stageOf } from './pre-rope.js';

export interface ReplayOptions {
  readonly allowEmulation: boolean;
  /** Called after every step; the prefill is the first when there is one. */
  readonly onStep?: (step: number, steps: number) => void;
  /** Before every step. What it throws ends the replay. */
  readonly pause: Pause;
}

export interface LayerOutput {
  /** `[queries, queryHeads, valueHeadDim]`. */
  readonly output: Float32Array;
  /** `[queries, queryHeads]`. */
  readonly logSumExp: Float32Array;
}

/** The cache after the last step, still alive, and what attention gave in each layer. */
export interface Replay {
  readonly cache: Cache;
  readonly sequence: Sequence;
  readonly layers: readonly LayerOutput[];
}

/** Tokens appended before the first attended position. */
export function prefillTokens(data: CaptureData): number {
  return positionOf(data.sizes, 0);
}

/** Runs the replay. The caller disposes the cache; on an error it is disposed here. */
export async function replayCapture(
  data: CaptureData,
  plan: Plan,
  backend: Backend,
  options: ReplayOptions,
): Promise<Replay> {
  const { tokens, queries, stride, queryHeads, valueHeadDim } = data.sizes;
  const cache = await createCache(plan, backend, {
    capacity: { tokens },
    allowEmulation: options.allowEmulation,
  });
  try {
    const sequence = cache.createSequence();
    const layers = data.layers.map(() => ({
      output: new Float32Array(queries * queryHeads * valueHeadDim),
      logSumExp: new Float32Array(queries * queryHeads),
    }));
    const tokensOf = inputsOf(data, plan);
    const prefill = prefillTokens(data);
    const steps = tokens - prefill + (prefill > 0 ? 1 : 0);
    let done = 0;
    if (prefill > 0) {
      await options.pause();
      await cache.append([{ sequence, tokens: prefill }], tokensOf(0, prefill));
      options.onStep?.(++done, steps);
    }
    for (let position = prefill; position < tokens; position++) {
      const query = (position - prefill) / stride;
      const attended = Number.isInteger(query);
      const inputs = tokensOf(position, 1);
      await options.pause();
      const results = await decodeStep(data, cache, sequence, inputs, attended ? query : null);
      for (const [i, result] of results.entries()) {
        const { output, logSumExp } = await result.read();
        const layer = layers[i] as LayerOutput;
        layer.output.set(
          f32Of(output, queryHeads * valueHeadDim),
          query * queryHeads * valueHeadDim,
        );
        layer.logSumExp.set(f32Of(logSumExp, queryHeads), query * queryHeads);
      }
      options.onStep?.(++done, steps);
    }
    return { cache, sequence, layers };
  } catch (error) {
    cache.dispose();
    throw error;
  }
}

/** Appends a token to every layer and, when there is a query for it, attends in the same step. */
async function decodeStep(
  data: CaptureData,
  cache: Cache,
  sequence: Sequence,
  inputs: readonly LayerInput[],
  query: number | null,
): Promise<AttentionResult[]> {
  const step = cache.step([{ sequence, tokens: 1 }]);
  const results = data.layers.flatMap((layer, i) => {
    const { key, value } = inputs[i] as LayerInput;
    step.append(i, key, value);
    return query === null
      ? []
      : [step.attend(i, queryRow(data, layer, query), { logSumExp: true })];
  });
  await step.commit();
  return results;
}

/** What every layer appends for some tokens: keys at the stage that its plan stores. */
function inputsOf(data: CaptureData, plan: Plan) {
  const { kvHeads, keyHeadDim, valueHeadDim } = data.sizes;
  const tensors = data.layers.map((layer, i) => ({
    key: keysAt(layer, keyStage(plan, i)).bits,
    value: layer.value,
  }));
  return (first: number, count: number): LayerInput[] => {
    const rows = (bits: Uint16Array, headDim: number) => {
      const width = kvHeads * headDim;
      const some = bits.subarray(first * width, (first + count) * width);
      return f16Tensor(some, [count, kvHeads, headDim]);
    };
    return tensors.map(({ key, value }) => ({
      key: rows(key, keyHeadDim),
      value: rows(value, valueHeadDim),
    }));
  };
}

/** At which stage a layer of a plan takes keys. */
export function keyStage(plan: Plan, layer: number): Stage {
  const planned = plan.layers.find((entry) => entry.layer === layer);
  return planned === undefined ? 'post-rope' : stageOf(planned.key.scheme);
}

/** One query row of a layer, `[1, queryHeads, keyHeadDim]`. */
export function queryRow(data: CaptureData, layer: LayerTensors, query: number): HostTensor {
  const { queryHeads, keyHeadDim } = data.sizes;
  const width = queryHeads * keyHeadDim;
  return f32Tensor(layer.query.subarray(query * width, (query + 1) * width), [
    1,
    queryHeads,
    keyHeadDim,
  ]);
}

/** The f32 elements of a result. Throws BACKEND_FAILED when it is missing or of another type or size. */
export function f32Of(tensor: HostTensor | undefined, length: number): Float32Array {
  if (tensor?.data instanceof Float32Array && tensor.data.length === length) return tensor.data;
  throw new LowbitKvError('BACKEND_FAILED', {
    message: 'attention returned something else than asked for',
    value: tensor === undefined ? undefined : { type: tensor.type, shape: tensor.shape },
    valid: `an f32 tensor of ${length} elements`,
    next: 'Report this to the author of the backend.',
  });
}
