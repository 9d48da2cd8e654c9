/**
 * One run of an unchanged decoder over a past that is given.
 */
import { encodeF16, LowbitKvError } from '@lowbit-kv/core';
import { floatsOf } from '../decoder/forward-checks.js';
import { widened } from '../decoder/uncut.js';
import { type Feed, feedOf } from '../model/input-contract.js';
import { dimsOf, placeRows, takeRows } from '../model/past-layout.js';
import type { ModelSession, SessionTensor } from '../model/session.js';
import { type Feeding, firstNew, inputStep, type SlotPlan, slotPlan } from './feeding.js';
import type { PastTensor } from './past-tensors.js';
import type { LayerRows, TokenRows } from './token-rows.js';

export interface InjectedModel {
  readonly session: Pick<ModelSession, 'inputs' | 'run' | 'release'>;
  readonly tensors: readonly PastTensor[];
  readonly layers: number;
  /** Name of an output. */
  readonly logits: string;
  readonly vocabularySize: number;
}

export interface InjectedPass {
  /** `[rows, vocabularySize]`: of all new tokens, or of the last alone where the model gives no more. */
  readonly logits: Float32Array;
  /** Of the new tokens. */
  readonly rows: TokenRows;
}

/**
 * Runs new tokens after those of the past. `filler` is what slots without a token hold. Throws MODEL_UNSUPPORTED for inputs
 * that are not known and outputs of unknown sizes, BACKEND_FAILED.
 */
export async function runInjected(
  { session, tensors, layers, logits, vocabularySize }: InjectedModel,
  tokens: readonly number[],
  past: TokenRows,
  feeding: Feeding,
  filler = 0,
): Promise<InjectedPass> {
  const step = inputStep(tokens, past.tokens, feeding);
  const pasts = new Map(tensors.map((tensor) => [tensor.input, tensor]));
  const feeds = session.inputs.map((input) => {
    const tensor = pasts.get(input.name);
    const feed =
      tensor === undefined
        ? feedOf(input, step)
        : pastFeed(tensor, past, slotPlan(feeding.slots, past.tokens), filler);
    return [input.name, feed] as const;
  });
  const names = [logits, ...tensors.map(({ output }) => output)];
  const results = await session.run(Object.fromEntries(feeds), names);
  const result = (name: string) => widened(results[name] as SessionTensor);
  const made = Array.from({ length: layers }, () => ({
    key: new Float32Array(),
    value: new Float32Array(),
  }));
  for (const { output, layout, parts } of tensors) {
    const { data, dims } = result(output);
    const slots = dims[layout.axes.indexOf('tokens')] ?? 0;
    const first = firstNew(feeding.slots, past.tokens, tokens.length, slots);
    const length = dimsOf(layout, slots).reduce((product, dim) => product * dim, 1);
    if (first === null) throw unknownPresent(output, dims, past.tokens, tokens.length);
    const present = floatsOf({ data, dims }, length, output);
    for (const { layer, tensor, pair } of parts)
      Object.assign(made[layer] as LayerRows, {
        [tensor]: takeRows(layout, { slots, first, pair }, present, tokens.length),
      });
  }
  const given = result(logits);
  const count = given.dims[1] === 1 ? 1 : tokens.length;
  return {
    logits: floatsOf(given, count * vocabularySize, logits),
    rows: { tokens: tokens.length, layers: made },
  };
}

function pastFeed(
  { type, layout, parts }: PastTensor,
  past: TokenRows,
  { slots, first }: SlotPlan,
  filler: number,
): Feed {
  const dims = dimsOf(layout, slots);
  const data = new Float32Array(dims.reduce((product, dim) => product * dim, 1)).fill(filler);
  for (const { layer, tensor, pair } of parts)
    placeRows(layout, { slots, first, pair }, (past.layers[layer] as LayerRows)[tensor], data);
  return type === 'float32' ? { type, data, dims } : { type, data: encodeF16(data), dims };
}

function unknownPresent(
  name: string,
  dims: readonly number[],
  past: number,
  tokens: number,
): LowbitKvError {
  return new LowbitKvError('MODEL_UNSUPPORTED', {
    message: `${name} is neither the past with the new tokens after it nor the new tokens alone`,
    value: { dims, past, tokens },
    valid: `${past + tokens} or ${tokens} tokens; of a fixed cache, as many as it has`,
    next: 'Export the decoder for text generation with past.',
  });
}
