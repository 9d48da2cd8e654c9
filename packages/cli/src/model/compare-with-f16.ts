/**
 * Where a greedy text under a scheme leaves that of f16, and how close the choice was.
 */
import { type Backend, createPlan } from '@lowbit-kv/core';
import { F16 } from '@lowbit-kv/harness';
import { generate, largestLogit, type Tokenizer } from '@lowbit-kv/model-onnx';
import type { WritingModel } from './writing-model.js';

export interface FirstDifference {
  /** Tokens that are equal before it. */
  readonly equal: number;
  /** What f16 chose and what the scheme did, after the same tokens, with f16's probability of each. */
  readonly f16: { readonly token: number; readonly probability: number };
  readonly scheme: { readonly token: number; readonly probability: number };
}

/** Null when f16 gives the same tokens. Throws the reason of an interruption. */
export async function compareWithF16(
  model: WritingModel,
  backend: Backend,
  prompt: readonly number[],
  tokens: readonly number[],
  signal: AbortSignal,
): Promise<FirstDifference | null> {
  if (tokens.length === 0) return null;
  const run = await model.openRun(createPlan(F16, model.geometry), {
    backend,
    tokens: prompt.length + tokens.length,
  });
  try {
    const options = {
      ...{ prompt, sampler: largestLogit, maxTokens: tokens.length, eosIds: [], signal },
    };
    let equal = 0;
    for await (const { token, logits } of generate(run, options)) {
      const chosen = tokens[equal] as number;
      if (token !== chosen) {
        const withProbability = (id: number) => ({
          token: id,
          probability: probabilityOf(logits, id),
        });
        return { equal, f16: withProbability(token), scheme: withProbability(chosen) };
      }
      equal++;
    }
    return null;
  } finally {
    await run.dispose();
  }
}

/** Of a token, by the logits of its place. */
function probabilityOf(logits: Float32Array, token: number): number {
  const largest = logits.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY);
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
  return Math.exp((logits[token] as number) - largest) / total;
}

export function differenceText(difference: FirstDifference | null, tokenizer: Tokenizer): string {
  if (difference === null) return 'f16 gives the same tokens.';
  const { equal, f16, scheme } = difference;
  const shown = ({ token, probability }: FirstDifference['f16']) =>
    `${JSON.stringify(tokenizer.decode([token], { special: true }))} (probability in f16 ${probability.toFixed(4)})`;
  return `f16 gives the same first ${equal} tokens, then ${shown(f16)} in place of ${shown(scheme)}.`;
}
