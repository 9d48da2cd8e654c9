/**
 * A sequence of a model that grows by tokens, its keys and values in a cache under a plan: what generation runs on.
 */

import type { Backend, Plan } from '@lowbit-kv/core';
import { type Cache, type CacheStats, createCache, type Sequence } from '@lowbit-kv/core';
import type { Decoder, OnLogits } from '../decoder/decoder.js';
import { decodeStep } from '../replay/step-decoding.js';

export interface ExtendOptions {
  readonly onLogits?: OnLogits;
  /** `last`: logits of the last token alone. Default `all`. */
  readonly rows?: 'all' | 'last';
  /** Ends the step with the signal's reason, as any failure does. */
  readonly signal?: AbortSignal;
}

export interface TokenRun {
  /** Tokens so far. */
  readonly length: number;
  /** Runs new tokens. When it fails, the sequence is as it was. */
  extend(tokens: readonly number[], options?: ExtendOptions): Promise<void>;
  stats(): Promise<CacheStats>;
  dispose(): Promise<void>;
}

export interface TokenRunOptions {
  /** What packs and attends. */
  readonly backend: Backend;
  /** Longest sequence. */
  readonly tokens: number;
  readonly allowEmulation?: boolean;
}

/** A sequence of a cut decoder, a step of the cache per call. Throws what `createCache` throws. */
export async function openTokenRun(
  decoder: Decoder,
  plan: Plan,
  { backend, tokens, allowEmulation = false }: TokenRunOptions,
): Promise<TokenRun> {
  const cache = await createCache(plan, backend, { capacity: { tokens }, allowEmulation });
  return new CutTokenRun(decoder, cache);
}

class CutTokenRun implements TokenRun {
  readonly #decoder: Decoder;
  readonly #cache: Cache;
  readonly #sequence: Sequence;

  constructor(decoder: Decoder, cache: Cache) {
    this.#decoder = decoder;
    this.#cache = cache;
    this.#sequence = cache.createSequence();
  }

  get length(): number {
    return this.#sequence.length;
  }

  extend(tokens: readonly number[], options: ExtendOptions = {}): Promise<void> {
    return decodeStep(this.#decoder, this.#cache, this.#sequence, tokens, options);
  }

  stats(): Promise<CacheStats> {
    return this.#cache.stats();
  }

  async dispose(): Promise<void> {
    this.#cache.dispose();
  }
}
