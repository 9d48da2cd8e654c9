/**
 * A reference cache of a scheme with one sequence or several, and the rows that were appended to them.
 */
import type { Cache, LayerInput } from '../cache/cache.js';
import { createCache } from '../cache/create-cache.js';
import type { Sequence } from '../cache/sequence.js';
import { type WindowCounts, windowCounts } from '../cache/window.js';
import { decodeF16 } from '../float16.js';
import { type LayerUnit, modelLayers } from '../plan/model-layers.js';
import type { PageClass, Plan, TensorPlan } from '../plan/plan.js';
import { referenceBackend } from '../reference/reference-backend.js';
import { f16Tensor } from '../tensor.js';
import { ContractSkip } from './check.js';
import { normalRows } from './scheme-data.js';

/** f16 bits `[tokens, heads, headDim]` of a whole sequence, by unit of the plan and tensor. */
export type Rows = readonly { readonly key: Uint16Array; readonly value: Uint16Array }[];

/** Makes the rows of one tensor of a unit. */
export type RowSource = (tensor: TensorPlan, layer: number, tokens: number) => Uint16Array;

/** Tokens after which every packed tensor has flushed at least twice and filled a block of 32 tokens. */
export function runLength(plan: Plan): number {
  const reach = plan.classes.map((rule) =>
    rule.flush === 0
      ? 40
      : rule.sinks +
        Math.max(rule.recent + rule.flush, rule.statisticsTokens) +
        Math.max(rule.flush, 32) +
        3,
  );
  return Math.max(...reach);
}

/** The rows of a sequence of `tokens` tokens. */
export function rowsOf(plan: Plan, tokens: number, source: RowSource): Rows {
  return plan.layers.map(({ layer, key, value }) => ({
    key: source(key, layer, tokens),
    value: source(value, layer, tokens),
  }));
}

export function normalSource(seed = 0): RowSource {
  return (tensor, layer, tokens) => normalRows(tensor, layer, tokens, seed);
}

/** A cache with room for four sequences. Throws ContractSkip when the reference backend refuses the plan. */
export async function openCache(plan: Plan): Promise<Cache> {
  const backend = referenceBackend();
  const support = backend.supports(plan);
  if (support.kind === 'refused')
    throw new ContractSkip(`the reference backend refuses it: ${support.reasons.join('; ')}`);
  const tokens = 4 * (runLength(plan) + 100);
  return createCache(plan, backend, { capacity: { tokens, sequences: 4 } });
}

/** Rows `first` to `end` of all layers of the model as input of a step. */
export function inputOf(plan: Plan, rows: Rows, first: number, end: number): LayerInput[] {
  return modelLayers(plan).map(({ geometry, units }) => {
    const part = (tensor: 'key' | 'value', headDim: number) => {
      const shape = [end - first, geometry.kvHeads, headDim];
      const bits = new Uint16Array((end - first) * geometry.kvHeads * headDim);
      for (const unit of units) {
        const source = (rows[unit.index] as Rows[number])[tensor];
        eachHead(unit, first, end, headDim, (token, head, from) => {
          const to = ((token - first) * geometry.kvHeads + head) * headDim;
          bits.set(source.subarray(from, from + headDim), to);
        });
      }
      return f16Tensor(bits, shape);
    };
    return { key: part('key', geometry.keyHeadDim), value: part('value', geometry.valueHeadDim) };
  });
}

/** Calls back with each token, kv head of the model layer, and the first element of both in a tensor of the unit. */
function eachHead(
  { plan: { heads } }: LayerUnit,
  first: number,
  end: number,
  headDim: number,
  act: (token: number, head: number, at: number) => void,
): void {
  for (let token = first; token < end; token++)
    for (const [i, head] of heads.entries()) act(token, head, (token * heads.length + i) * headDim);
}

/** Appends rows from the length of the sequence up to `end`, in steps of `chunk`. */
export async function grow(
  cache: Cache,
  sequence: Sequence,
  rows: Rows,
  end: number,
  chunk: number = end,
): Promise<void> {
  while (sequence.length < end) {
    const first = sequence.length;
    const to = Math.min(first + chunk, end);
    const layers = inputOf(cache.plan, rows, first, to);
    await cache.append([{ sequence, tokens: to - first }], layers);
  }
}

/** What the window law says of one tensor after `length` tokens. */
export function countsOf(plan: Plan, tensor: TensorPlan, length: number): WindowCounts {
  return windowCounts(plan.classes[tensor.class] as PageClass, length);
}

/** The tensors of a plan with the decoded tokens of a sequence, f32, beside the rows that went in. */
export async function decodedTensors(cache: Cache, sequence: Sequence, rows: Rows) {
  const result: {
    readonly plan: TensorPlan;
    readonly layer: number;
    readonly decoded: Float32Array;
    readonly original: Float32Array;
    /** Elements `[first, end)` are packed. */
    readonly first: number;
    readonly end: number;
  }[] = [];
  for (const { layer, geometry, units } of modelLayers(cache.plan)) {
    const stored = await cache.materialize(sequence, layer);
    for (const unit of units) {
      for (const plan of [unit.plan.key, unit.plan.value]) {
        const { tensor, heads, headDim } = plan;
        const width = heads * headDim;
        const { sinks, packed } = countsOf(cache.plan, plan, sequence.length);
        const all = stored[tensor].data as Float32Array;
        const decoded = new Float32Array(sequence.length * width);
        eachHead(unit, 0, sequence.length, headDim, (token, head, at) => {
          const from = (token * geometry.kvHeads + head) * headDim;
          decoded.set(all.subarray(from, from + headDim), at);
        });
        result.push({
          plan,
          layer,
          decoded,
          original: decodeF16(
            (rows[unit.index] as Rows[number])[tensor].subarray(0, sequence.length * width),
          ),
          first: sinks * width,
          end: (sinks + packed) * width,
        });
      }
    }
  }
  return result;
}
