/**
 * Prompts that hide a pass key in filler text and ask for it at the end. Every part is encoded on its own, so that the key
 * and the answer have known positions.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { EvaluatedModel } from './model.js';
import { checkTokens } from './windows.js';

export interface RetrievalOptions {
  /** Tokens of a piece of text, without special tokens. */
  readonly encode: (text: string) => readonly number[];
  /** Longest prompts, answer included, in tokens. */
  readonly contexts: readonly number[];
  /** Where the key stands in the filler, in percent. Default 0, 25, 50, 75, 100. */
  readonly depths?: readonly number[];
  /** Of the keys and the order of the filler. Default 1. */
  readonly seed?: number;
}

export interface RetrievalPrompt {
  /** As asked for. */
  readonly context: number;
  /** Percent; null for the prompt without the key, which says how likely the answer is by itself. */
  readonly depth: number | null;
  /** Of the first token of the sentence with the key; null without it. */
  readonly keyPosition: number | null;
  /** Ends with the answer. */
  readonly tokens: readonly number[];
  /** Tokens of the answer. */
  readonly answerTokens: number;
}

const DEFAULT_DEPTHS = [0, 25, 50, 75, 100];
const DEFAULT_SEED = 1;
const KEY_DIGITS = 5;

const FILLER = [
  ' The river was low that summer and the boats lay on the sand.',
  ' Nobody in the village could say who had planted the old trees.',
  ' A letter came on Monday, and another one came on Friday.',
  ' The baker opened his shop before the sun was up.',
  ' Rain fell on the hills, and the roads turned to mud.',
  ' She kept the windows open because the room was warm.',
  ' The train to the coast was late again in the evening.',
  ' Two dogs slept in the shade beside the wall.',
  ' He read the newspaper twice and put it on the table.',
  ' In the garden the beans had grown as high as the fence.',
  ' The teacher wrote a long sentence on the board.',
  ' Some of the houses near the harbour had been painted blue.',
  ' They talked about the weather until the tea was cold.',
  ' A clock in the hall struck, but nobody counted.',
  ' The market was full of apples, onions and old books.',
  ' On the other side of the bridge the music had stopped.',
];

function keySentence(key: string): string {
  return ` The pass key is ${key}. Remember it: ${key} is the pass key.`;
}

/** What every prompt ends with; the answer is a space and the key. */
export const RETRIEVAL_QUESTION = ' What is the pass key? The pass key is';

/**
 * For each context first the prompt without the key, then one for each depth, all with one key. Equal options give equal
 * prompts. Throws OPTION_INVALID.
 */
export function retrievalPrompts(
  { encode, contexts, depths = DEFAULT_DEPTHS, seed = DEFAULT_SEED }: RetrievalOptions,
  { contextLimit, vocabularySize }: Pick<EvaluatedModel, 'contextLimit' | 'vocabularySize'>,
): RetrievalPrompt[] {
  const badDepth = depths.find((depth) => !(depth >= 0 && depth <= 100));
  if (badDepth !== undefined || depths.length === 0)
    throw refusal('depths', depths, 'at least one, each a number from 0 to 100');
  if (
    contexts.length === 0 ||
    !contexts.every(isLength) ||
    new Set(contexts).size < contexts.length
  )
    throw refusal('contexts', contexts, 'different numbers of tokens, at least one');
  if (!Number.isSafeInteger(seed)) throw refusal('seed', seed, 'an integer');
  const random = randomNumbers(seed);
  const filler = FILLER.map((sentence) => encode(sentence));
  const question = encode(RETRIEVAL_QUESTION);
  const prompts = contexts.flatMap((context) => {
    if (contextLimit !== null && context > contextLimit)
      throw refusal('contexts', context, `at most ${contextLimit} tokens, the model's own limit`);
    const key = Array.from({ length: KEY_DIGITS }, () => Math.floor(10 * random())).join('');
    const needle = encode(keySentence(key));
    const answer = encode(` ${key}`);
    const parts = { needle, end: [...question, ...answer] };
    const text = fillerOf(filler, context - needle.length - parts.end.length, random);
    if (answer.length === 0 || text.length === 0)
      throw refusal('contexts', context, 'long enough for the key, the question and one sentence');
    const prompt = (depth: number | null) => ({
      context,
      depth,
      ...assemble(text, parts, depth),
      answerTokens: answer.length,
    });
    return [prompt(null), ...depths.map(prompt)];
  });
  for (const { tokens } of prompts) checkTokens(tokens, vocabularySize);
  return prompts;
}

function isLength(tokens: number): boolean {
  return Number.isSafeInteger(tokens) && tokens >= 1;
}

function assemble(
  sentences: readonly (readonly number[])[],
  { needle, end }: { readonly needle: readonly number[]; readonly end: readonly number[] },
  depth: number | null,
) {
  if (depth === null) return { keyPosition: null, tokens: [...sentences.flat(), ...end] };
  const place = Math.round((depth / 100) * sentences.length);
  const before = sentences.slice(0, place).flat();
  const after = sentences.slice(place).flat();
  return { keyPosition: before.length, tokens: [...before, ...needle, ...after, ...end] };
}

/** Sentences in drawn order, never the same twice in a row, as many as fit. */
function fillerOf(
  filler: readonly (readonly number[])[],
  room: number,
  random: () => number,
): (readonly number[])[] {
  const chosen: (readonly number[])[] = [];
  let left = room;
  let last = -1;
  while (true) {
    const step = 1 + Math.floor(random() * (filler.length - 1));
    last = last < 0 ? Math.floor(random() * filler.length) : (last + step) % filler.length;
    const sentence = filler[last] as readonly number[];
    left -= sentence.length;
    if (left < 0 || sentence.length === 0) return chosen;
    chosen.push(sentence);
  }
}

/** Numbers in [0, 1) from a 32-bit state (a Weyl sequence through a mixing function). */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
}

function refusal(field: string, value: unknown, valid: string): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: `${field} of the retrieval are not valid`,
    value,
    valid,
    next: 'Correct the option.',
    where: { field },
  });
}
