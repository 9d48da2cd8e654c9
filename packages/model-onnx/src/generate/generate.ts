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
  /** Tokens of the prompt per step of the cache. Default: the whole prompt in one step. */
  readonly promptStep?: number;
  /** Ends the generation between two tokens: it returns, what was given stays valid. */
  readonly signal?: AbortSignal;
}

export interface Generation {
  readonly token: number;
  /** Logits that it was chosen from, `[vocabularySize]`; valid until the next token is asked for. */
  readonly logits: Float32Array;
}

/** Why a generation ended. */
export type GenerationEnd = 'eos' | 'length' | 'interrupted';

/**
 * Tokens as they are chosen. The last one given is not in the cache: what would follow it was not asked. Throws
 * OPTION_INVALID, and what a step throws.
 */
export async function* generate(
  run: TokenRun,
  options: GenerateOptions,
): AsyncGenerator<Generation, GenerationEnd> {
  const { prompt, sampler, maxTokens, eosIds, signal } = options;
  const promptStep = options.promptStep ?? prompt.length;
  requireCount('prompt', prompt.length);
  requireCount('maxTokens', maxTokens);
  requireCount('promptStep', promptStep);
  const isStopped = () => signal?.aborted ?? false;
  let logits = new Float32Array(0);
  const onLogits = (_: number, row: Float32Array) => {
    logits = row.slice();
  };
  for (let first = 0; first < prompt.length; first += promptStep) {
    if (isStopped()) return 'interrupted';
    const part = prompt.slice(first, first + promptStep);
    const isLast = first + promptStep >= prompt.length;
    await run.extend(part, isLast ? { onLogits, rows: 'last' } : {});
  }
  for (let given = 1; ; given++) {
    if (isStopped()) return 'interrupted';
    const token = sampler(logits);
    yield { token, logits };
    if (eosIds.includes(token)) return 'eos';
    if (given === maxTokens) return 'length';
    if (isStopped()) return 'interrupted';
    await run.extend([token], { onLogits, rows: 'last' });
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
