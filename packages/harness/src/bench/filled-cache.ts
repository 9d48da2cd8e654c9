/**
 * A cache as a server leaves it after a while: sequences whose pages lie at shuffled places, packed by `append`.
 */
import {
  type Backend,
  type Cache,
  createCache,
  type LayerInput,
  LowbitKvError,
  modelLayers,
  type Plan,
  type Sequence,
  type Step,
} from '@lowbit-kv/core';
import { createRandom, type Random, shuffled } from '@lowbit-kv/core/testing';
import { pause } from './pause.js';

/** Rows of one step. */
export const FILL_ROWS = 16384;
/** Sequences that may be alive beside the filled ones while pages are shuffled; only tails need room for that. */
const MORE_SEQUENCES = { tails: 64, plain: 1024 } as const;
const SHUFFLES = 12;

/** Where keys and values come from. */
export interface RowSource {
  /** `[rows, kvHeads, headDim]` of each, from a random place on; at most `FILL_ROWS`. */
  rows(rows: number, random: Random): LayerInput;
}

export interface FilledCache {
  readonly cache: Cache;
  readonly sequences: readonly Sequence[];
}

export interface FillOptions {
  /** Tokens that each sequence may have besides. */
  readonly more: number;
  readonly allowEmulation?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Sequences of these lengths. Throws what `createCache` and `append` throw, and the reason of the signal. */
export async function fillCache(
  plan: Plan,
  backend: Backend,
  source: RowSource,
  lengths: readonly number[],
  { more, allowEmulation = false, signal }: FillOptions,
): Promise<FilledCache> {
  const random = createRandom(lengths.length);
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  const beside = plan.classes.some(({ flush }) => flush > 0) ? MORE_SEQUENCES.tails : 0;
  const cache = await createCache(plan, backend, {
    capacity: { tokens: tokens + more * lengths.length, sequences: lengths.length + beside },
    nonFinite: 'mask',
    allowEmulation,
  });
  try {
    shufflePages(cache, tokens / (beside || MORE_SEQUENCES.plain), random);
    const sequences = lengths.map(() => cache.createSequence());
    const layers = modelLayers(plan);
    const most = Math.max(1, Math.floor(FILL_ROWS / lengths.length));
    for (;;) {
      await pause(signal);
      const entries = sequences
        .map((sequence, i) => ({
          sequence,
          tokens: Math.min(most, (lengths[i] as number) - sequence.length),
        }))
        .filter((entry) => entry.tokens > 0);
      const rows = entries.reduce((sum, entry) => sum + entry.tokens, 0);
      if (rows === 0) return { cache, sequences };
      await cache.append(
        shuffled(entries, random),
        layers.map(() => source.rows(rows, random)),
      );
    }
  } catch (error) {
    cache.dispose();
    throw error;
  }
}

interface OpenStep {
  readonly sequence: Sequence;
  readonly step: Step;
}

/** Free pages change places: steps over many sequences are planned, which takes pages, and given up in another order. */
function shufflePages(cache: Cache, mean: number, random: Random): void {
  for (let round = 0; round < SHUFFLES; round++) {
    const steps: OpenStep[] = [];
    for (;;) {
      const open = tryStep(cache, 1 + random(Math.ceil(2 * mean)));
      if (open === null) break;
      steps.push(open);
    }
    for (const { sequence, step } of shuffled(steps, random)) {
      step.abandon();
      cache.disposeSequence(sequence);
    }
  }
}

/** A step of a new sequence; null when the pages do not suffice. */
function tryStep(cache: Cache, tokens: number): OpenStep | null {
  const sequence = cache.createSequence();
  try {
    return { sequence, step: cache.step([{ sequence, tokens }]) };
  } catch (error) {
    cache.disposeSequence(sequence);
    if (LowbitKvError.is(error, 'OUT_OF_PAGES')) return null;
    throw error;
  }
}
