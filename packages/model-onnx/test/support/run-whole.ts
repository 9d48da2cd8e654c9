/**
 * Runs a decoder as it is, uncut, in ONNX Runtime.
 */
import { f16ToF32 } from '@lowbit-kv/core';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { modelBytes } from './graph-writer.js';
import type { TinyDecoder } from './tiny-decoders.js';

/** Logits `[tokens, vocabulary]`; each of `pieces` is the number of tokens of one run, with the past of those before. */
export async function runWhole(
  decoder: TinyDecoder,
  tokens: readonly number[],
  pieces: readonly number[] = [tokens.length],
): Promise<Float32Array> {
  const session = await InferenceSession.create(modelBytes(decoder.model), { logSeverityLevel: 3 });
  try {
    const logits = new Float32Array(tokens.length * decoder.sizes.vocabulary);
    let past = emptyPast(decoder);
    let first = 0;
    for (const count of pieces) {
      const results = await session.run({
        ...integerInputs(session, tokens.slice(first, first + count), first),
        ...past,
      });
      logits.set(floatsOf(results.logits), first * decoder.sizes.vocabulary);
      past = Object.fromEntries(
        Object.keys(past).map((name) => {
          const present = results[name.replace('past_key_values', 'present')];
          if (present === undefined) throw new Error(`${name} is not given back`);
          return [name, present];
        }),
      );
      first += count;
    }
    return logits;
  } finally {
    await session.release();
  }
}

function integerInputs(session: InferenceSession, tokens: readonly number[], first: number) {
  const values: Readonly<Record<string, readonly number[]>> = {
    input_ids: tokens,
    position_ids: tokens.map((_, i) => first + i),
    attention_mask: Array(first + tokens.length).fill(1),
  };
  const used = Object.entries(values).filter(([name]) => session.inputNames.includes(name));
  return Object.fromEntries(
    used.map(([name, list]) => [
      name,
      new Tensor('int64', BigInt64Array.from(list, BigInt), [1, list.length]),
    ]),
  );
}

/** A past of no tokens for every input that holds one: its only dynamic dimensions are batch and past. */
function emptyPast({ model, elementType }: TinyDecoder): Record<string, Tensor> {
  const inputs = model.graph?.input.filter(({ name }) => name.startsWith('past_key_values')) ?? [];
  return Object.fromEntries(
    inputs.map(({ name, type }) => {
      const shape = type?.value.case === 'tensorType' ? type.value.value.shape : undefined;
      const dims = (shape?.dim ?? []).map(({ value }) => {
        if (value.case === 'dimValue') return Number(value.value);
        return value.value === 'batch' ? 1 : 0;
      });
      const empty = elementType === 'float16' ? new Uint16Array() : new Float32Array();
      return [name, new Tensor(elementType, empty, dims)];
    }),
  );
}

function floatsOf(tensor: Tensor | undefined): Float32Array {
  if (tensor?.data instanceof Float32Array) return tensor.data;
  // ONNX Runtime gives f16 as its bits, or as a Float16Array where Node has one.
  if (tensor?.data instanceof Uint16Array) return Float32Array.from(tensor.data, f16ToF32);
  if (tensor?.type === 'float16') return Float32Array.from(tensor.data as Iterable<number>);
  throw new Error(`no floats: ${tensor?.type}`);
}
