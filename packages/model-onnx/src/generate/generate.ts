/**
 * Generation: a prompt, then one token after another, each chosen from the logits of the last.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Sampler } from '../text/sample.js';
import type { TokenRun } from './token-run.js';

export interface GenerateOptions {
  /** Continues what the run holds; an empty one starts with this. At least one token. */
  readonly prompt: readonly number[];
  readonly sampler: Sampler;
  /** Most tokens to generate. */
  readonly maxTokens: number;
  /** Tokens that end the text; the one that did is given, too. */
  readonly eosIds: readonly number[];
  /** Ends the generation with the signal's reason within a layer of the step that runs; what was given stays valid. */
  readonly signal?: AbortSignal;
}

export interface Generation {
  readonly token: number;
  /** Logits that it was chosen from, `[vocabularySize]`; valid until the next token is asked for. */
  readonly logits: Float32Array;
}

/** Why a generation ended. */
export type GenerationEnd = 'eos' | 'length';

/**
 * Tokens as they are chosen; the prompt runs in one step of the cache, and attends to itself unpacked. The last one given is
 * not in the cache: what would follow it was not asked. Throws OPTION_INVALID, the reason of the signal, and what a step throws.
 */
export async function* generate(
  run: TokenRun,
  options: GenerateOptions,
): AsyncGenerator<Generation, GenerationEnd> {
  const { prompt, sampler, maxTokens, eosIds, signal } = options;
  requireCount('prompt', prompt.length);
  requireCount('maxTokens', maxTokens);
  let logits = new Float32Array(0);
  const onLogits = (_: number, row: Float32Array) => {
    logits = row.slice();
  };
  let next = prompt;
  for (let given = 0; ; ) {
    signal?.throwIfAborted();
    await run.extend(next, { onLogits, rows: 'last', ...(signal !== undefined && { signal }) });
    signal?.throwIfAborted();
    const token = sampler(logits);
    yield { token, logits };
    if (eosIds.includes(token)) return 'eos';
    if (++given === maxTokens) return 'length';
    next = [token];
  }
}

function requireCount(field: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: `${field} must not be empty or 0`,
    value,
    valid: 'at least 1',
    next: 'Correct the option.',
    where: { field },
  });
}
