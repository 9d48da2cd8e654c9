/**
 * Choosing the next token from logits.
 */
import { LowbitKvError, parseOrThrow } from '@lowbit-kv/core';
import * as z from 'zod';
import { createRandom } from './random.js';

const optionsSchema = z.strictObject({
  temperature: z.number().min(0).max(100).default(0),
  topP: z.number().gt(0).max(1).default(1),
  topK: z.int().min(0).default(0),
  seed: z.int().min(0).max(0xffffffff).default(0),
});

/**
 * `temperature` (0 to 100, default 0) divides the logits; 0 takes the largest one always. `topK` (default 0: all) keeps the
 * k largest, then `topP` (default 1: all) the smallest set of the most likely tokens whose probabilities add up to it.
 * `seed` (32 bits, default 0): equal seeds and logits give equal tokens.
 */
export type SampleOptions = z.input<typeof optionsSchema>;

/** Takes the logits of one position, `[vocabularySize]`; -Infinity rules a token out. */
export type Sampler = (logits: Float32Array) => number;

/** Tokens that may be chosen, with probabilities that add up to 1. */
export interface Distribution {
  readonly ids: Uint32Array;
  readonly probabilities: Float64Array;
}

/** Throws OPTION_INVALID; the sampler throws TENSOR_INVALID for logits with NaN or infinity, or with nothing to choose. */
export function createSampler(options: SampleOptions = {}): Sampler {
  const { seed, ...shape } = checkedOptions(options);
  if (shape.temperature === 0) return largestLogit;
  const random = createRandom(seed);
  return (logits) => {
    const { ids, probabilities } = shaped(logits, shape);
    let rest = random();
    for (let i = 0; i < ids.length - 1; i++) {
      rest -= probabilities[i] as number;
      if (rest < 0) return ids[i] as number;
    }
    return ids[ids.length - 1] as number;
  };
}

/** The token with the largest logit; of equal ones the first. Throws TENSOR_INVALID. */
export function largestLogit(logits: Float32Array): number {
  let best = -1;
  let largest = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id] as number;
    if (!(logit < Number.POSITIVE_INFINITY)) throw badLogit(logit, id);
    if (logit > largest) {
      largest = logit;
      best = id;
    }
  }
  if (best >= 0) return best;
  throw logitsError('logits leave no token to choose', logits.length, 'at least one finite logit');
}

/** What a sampler draws from; a temperature of 0 leaves one token. Throws OPTION_INVALID or TENSOR_INVALID. */
export function distributionOf(logits: Float32Array, options: SampleOptions): Distribution {
  return shaped(logits, checkedOptions(options));
}

interface Shape {
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
}

function shaped(logits: Float32Array, { temperature, topP, topK }: Shape): Distribution {
  const best = largestLogit(logits);
  if (temperature === 0) {
    return { ids: Uint32Array.of(best), probabilities: Float64Array.of(1) };
  }
  const ids = topK === 0 ? finiteIds(logits) : largestIds(logits, topK);
  const weights = Float64Array.from(ids, (id) =>
    Math.exp(((logits[id] as number) - (logits[best] as number)) / temperature),
  );
  const all = normalised(ids, weights);
  return topP === 1 ? all : nucleus(all, topP);
}

function finiteIds(logits: Float32Array): Uint32Array {
  const ids: number[] = [];
  for (let id = 0; id < logits.length; id++) {
    if (logits[id] !== Number.NEGATIVE_INFINITY) ids.push(id);
  }
  return Uint32Array.from(ids);
}

/** The `count` largest; of equal ones at the edge the first. Ascending ids. */
function largestIds(logits: Float32Array, count: number): Uint32Array {
  const finite = finiteIds(logits);
  if (finite.length <= count) return finite;
  const sorted = Float32Array.from(finite, (id) => logits[id] as number).sort();
  const edge = sorted[sorted.length - count] as number;
  let above = 0;
  for (const logit of sorted) if (logit > edge) above++;
  let atEdge = count - above;
  return finite.filter((id) => {
    const logit = logits[id] as number;
    return logit > edge || (logit === edge && atEdge-- > 0);
  });
}

/** The shortest run of the most likely tokens that reaches `topP`; of equal ones the first id. */
function nucleus({ ids, probabilities }: Distribution, topP: number): Distribution {
  // All tokens below this together cannot reach 1 - topP: they need no sorting, and are never part of the set.
  const least = (1 - topP) / ids.length;
  const order: number[] = [];
  for (let i = 0; i < ids.length; i++) if ((probabilities[i] as number) >= least) order.push(i);
  order.sort((a, b) => (probabilities[b] as number) - (probabilities[a] as number) || a - b);
  let sum = 0;
  let kept = 0;
  while (kept < order.length && sum < topP) sum += probabilities[order[kept++] as number] as number;
  const chosen = order.slice(0, kept);
  return normalised(
    Uint32Array.from(chosen, (i) => ids[i] as number),
    Float64Array.from(chosen, (i) => probabilities[i] as number),
  );
}

function normalised(ids: Uint32Array, weights: Float64Array): Distribution {
  let total = 0;
  for (const weight of weights) total += weight;
  return { ids, probabilities: weights.map((weight) => weight / total) };
}

function checkedOptions(options: SampleOptions) {
  return parseOrThrow(optionsSchema, options, 'OPTION_INVALID', 'sampling', 'Correct the option.');
}

function badLogit(value: number, id: number): LowbitKvError {
  return logitsError(`the logit of token ${id} cannot be used`, value, 'a number or -Infinity');
}

function logitsError(message: string, value: unknown, valid: string): LowbitKvError {
  const next = 'Check the model, and the scheme that its cache is stored with.';
  return new LowbitKvError('TENSOR_INVALID', { message, value, valid, next });
}
