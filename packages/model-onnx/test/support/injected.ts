/**
 * Tiny decoders run by past injection.
 */
import { createPlan, referenceBackend, type Scheme } from '@lowbit-kv/core';
import type { TokenRun } from '../../src/generate/token-run.js';
import { type InjectedDecoder, openInjectedDecoder } from '../../src/inject/injected-decoder.js';
import { openInjectedRun } from '../../src/inject/injected-run.js';
import { modelFromBytes } from '../../src/model/model-files.js';
import { modelBytes } from './graph-writer.js';
import type { TinyDecoder } from './tiny-decoders.js';

/** Heads of queries are all that the shapes of a past do not say. */
export function openTiny(
  { model, sizes }: TinyDecoder,
  config: object = { num_attention_heads: sizes.queryHeads },
): Promise<InjectedDecoder> {
  return openInjectedDecoder(modelFromBytes({ model: modelBytes(model), config }), { threads: 1 });
}

export function startRun(
  decoder: InjectedDecoder,
  scheme: Scheme,
  tokens: number,
): Promise<TokenRun> {
  const plan = createPlan(scheme, decoder.geometry);
  return openInjectedRun(decoder, plan, { backend: referenceBackend(), tokens });
}

/** Logits `[tokens, vocabulary]`; each of `pieces` is the number of tokens of one step. */
export async function extendBy(
  run: TokenRun,
  vocabulary: number,
  tokens: readonly number[],
  pieces: readonly number[],
): Promise<Float32Array> {
  const all = new Float32Array(tokens.length * vocabulary);
  let first = 0;
  for (const count of pieces) {
    await run.extend(tokens.slice(first, first + count), {
      onLogits: (row, logits) => all.set(logits, (first + row) * vocabulary),
    });
    first += count;
  }
  return all;
}
