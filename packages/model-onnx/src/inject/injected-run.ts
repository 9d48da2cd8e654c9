/**
 * Generation by past injection: a sequence that grows by tokens.
 */
import type { Cache, CacheStats, Plan, Sequence } from '@lowbit-kv/core';
import type { ExtendOptions, TokenRun, TokenRunOptions } from '../generate/token-run.js';
import type { InjectedDecoder } from './injected-decoder.js';
import { injectedStep, openInjectedCache } from './injected-sequence.js';

/**
 * A sequence of an injected decoder, a step of the cache per call: a prompt attends to itself in the model's precision.
 * Throws PLAN_REFUSED and what `createCache` throws.
 */
export async function openInjectedRun(
  decoder: InjectedDecoder,
  plan: Plan,
  options: TokenRunOptions,
): Promise<TokenRun> {
  return new InjectedRun(decoder, await openInjectedCache(decoder, plan, options));
}

class InjectedRun implements TokenRun {
  readonly #decoder: InjectedDecoder;
  readonly #cache: Cache;
  readonly #sequence: Sequence;

  constructor(decoder: InjectedDecoder, cache: Cache) {
    this.#decoder = decoder;
    this.#cache = cache;
    this.#sequence = cache.createSequence();
  }

  get length(): number {
    return this.#sequence.length;
  }

  async extend(
    tokens: readonly number[],
    { signal, ...options }: ExtendOptions = {},
  ): Promise<void> {
    signal?.throwIfAborted();
    await injectedStep(this.#decoder, this.#cache, this.#sequence, tokens, options);
  }

  stats(): Promise<CacheStats> {
    return this.#cache.stats();
  }

  async dispose(): Promise<void> {
    this.#cache.dispose();
  }
}
