/** Greedy tokens of the tiny model in a workspace, by loops of their own. */
import { createPlan, referenceBackend } from '@lowbit-kv/core';
import {
  openCutDecoder,
  openModelFiles,
  openTokenizer,
  openTokenRun,
  openUncut,
} from '@lowbit-kv/model-onnx';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { VOCABULARY } from './tiny-model.js';
import type { TinyWorkspace } from './tiny-workspace.js';

function largest(logits: Float32Array): number {
  return logits.reduce((best, x, i) => (x > (logits[best] as number) ? i : best), 0);
}

/** Under kivi-2bit-g32, a step of the cache each. */
export async function greedyTokens(
  { path }: TinyWorkspace,
  prompt: string,
  count: number,
): Promise<number[]> {
  const decoder = await openCutDecoder(await openModelFiles(path('model')), { threads: 1 });
  const plan = createPlan(kivi({ bits: 2, groupSize: 32 }), decoder.geometry);
  const run = await openTokenRun(decoder, plan, { backend: referenceBackend(), tokens: 512 });
  const tokens: number[] = [];
  let next = (await openTokenizer(path('model'))).encode(prompt);
  while (tokens.length < count) {
    await run.extend(next, {
      rows: 'last',
      onLogits: (_, logits) => {
        next = [largest(logits)];
      },
    });
    tokens.push(...next);
  }
  await run.dispose();
  await decoder.dispose();
  return tokens;
}

/** Of the model as it came, all tokens again at each step. */
export async function uncutTokens(
  { path }: TinyWorkspace,
  prompt: string,
  count: number,
): Promise<number[]> {
  const uncut = await openUncut(await openModelFiles(path('model')), { threads: 1 });
  const given = (await openTokenizer(path('model'))).encode(prompt);
  const tokens = [...given];
  while (tokens.length < given.length + count) {
    let last = new Float32Array();
    await uncut.logits(tokens, (_, logits) => {
      last = logits.slice(-VOCABULARY);
    });
    tokens.push(largest(last));
  }
  await uncut.dispose();
  return tokens.slice(given.length);
}
