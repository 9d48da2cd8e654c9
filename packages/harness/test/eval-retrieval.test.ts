/** Retrieval: where the key stands in the prompts, and a model that forgets a part of them. */
import { describe, expect, it } from 'vitest';
import { negativeLogProbability } from '../src/eval/logit-row.js';
import { RETRIEVAL_QUESTION, retrievalPrompts } from '../src/eval/retrieval-prompts.js';
import { refusal } from './support/failures.js';
import { evaluateFake } from './support/fake-evaluation.js';
import { fakeModel } from './support/fake-model.js';

/** A token per character. */
const encode = (text: string) =>
  Array.from(text, (character) => character.codePointAt(0) as number);
const decode = (tokens: readonly number[]) => String.fromCodePoint(...tokens);
const VOCABULARY = 128;
const model = { contextLimit: 4000, vocabularySize: VOCABULARY };

describe('prompts', () => {
  const prompts = retrievalPrompts({ encode, contexts: [500, 1000] }, model);

  it('have the key at each depth and end with question and answer', () => {
    expect(prompts.map(({ context, depth }) => [context, depth])).toEqual(
      [500, 1000].flatMap((context) => [null, 0, 25, 50, 75, 100].map((depth) => [context, depth])),
    );
    for (const { context, depth, keyPosition, tokens, answerTokens } of prompts) {
      const text = decode(tokens);
      const answer = text.slice(text.length - answerTokens);
      expect(answer).toMatch(/^ \d{5}$/);
      expect(text.endsWith(`${RETRIEVAL_QUESTION}${answer}`)).toBe(true);
      const needle = `The pass key is${answer}. Remember it:${answer} is the pass key.`;
      // Space before the sentence belongs to it.
      expect(text.indexOf(needle)).toBe(keyPosition === null ? -1 : keyPosition + 1);
      expect(tokens.length).toBeLessThanOrEqual(context);
      // What does not fit is at most a sentence, and in the prompt without a key the key.
      expect(tokens.length).toBeGreaterThan(
        context - 70 - (depth === null ? needle.length + 1 : 0),
      );
      if (depth === null || keyPosition === null) continue;
      const filler = tokens.length - RETRIEVAL_QUESTION.length - answerTokens - needle.length - 1;
      expect(Math.abs(keyPosition / filler - depth / 100)).toBeLessThan(0.12);
    }
    const at = (depth: number) => prompts.find((prompt) => prompt.depth === depth)?.keyPosition;
    expect(at(0)).toBe(0);
  });

  it('of one context share filler and key; seeds and contexts have their own', () => {
    const keyOf = ({ tokens }: { readonly tokens: readonly number[] }) => decode(tokens.slice(-5));
    expect(new Set(prompts.slice(0, 6).map(keyOf)).size).toBe(1);
    expect(keyOf(prompts[0] as never)).not.toBe(keyOf(prompts[6] as never));
    expect(retrievalPrompts({ encode, contexts: [500, 1000] }, model)).toEqual(prompts);
    const other = retrievalPrompts({ encode, contexts: [500], seed: 2 }, model);
    expect(keyOf(other[0] as never)).not.toBe(keyOf(prompts[0] as never));
  });

  it.each([
    ['a depth beyond the end', { depths: [101] }],
    ['a depth that is no number', { depths: [Number.NaN] }],
    ['no depth', { depths: [] }],
    ['no context', { contexts: [] }],
    ['a context that is no number', { contexts: [Number.NaN] }],
    ['a context without end', { contexts: [Number.POSITIVE_INFINITY] }],
    ['half a token', { contexts: [500.5] }],
    ['one context twice', { contexts: [500, 500] }],
    ['a context beyond that of the model', { contexts: [4001] }],
    ['a context too short for key and question', { contexts: [60] }],
    ['a seed that is no integer', { seed: 0.5 }],
    ['a tokenizer that gives nothing', { encode: () => [] }],
    ['tokens beyond the vocabulary', { encode: (text: string) => [200, ...encode(text)] }],
  ])('refuse %s', async (_, change) => {
    const unlimited = 'contexts' in change && change.contexts[0] === Number.POSITIVE_INFINITY;
    const limit = unlimited ? { ...model, contextLimit: null } : model;
    const made = Promise.resolve().then(() =>
      retrievalPrompts({ encode, contexts: [500], ...change }, limit),
    );
    await refusal(made, 'OPTION_INVALID');
  });
});

describe('a model that finds the key', () => {
  /** Certain of the next token of the answer as far as it sees the key; `forgets` says where it does not. */
  const finder = (forgets: (keyPosition: number) => boolean) =>
    fakeModel({
      vocabularySize: VOCABULARY,
      change(logits, { plan, tokens, row }) {
        const answer = decode(tokens.slice(-6));
        const key = decode(tokens).indexOf(`The pass key is${answer}.`);
        const answering = row >= tokens.length - 7 && row < tokens.length - 1;
        const blind = plan?.scheme.id === 'two' && forgets(key);
        const right = tokens[row + 1];
        if (right !== undefined && answering && key >= 0 && !blind) logits[right] = 15;
      },
    });
  const run = (forgets: (keyPosition: number) => boolean, contexts = [700]) =>
    evaluateFake(finder(forgets), { windows: 1, retrieval: { encode, contexts } });

  it('shows the depth where a scheme forgets', async () => {
    const { retrieval, schemes } = await run((position) => position > 200 && position < 420);
    if (retrieval === null) throw new Error('was asked for');
    expect(retrieval.question).toBe(RETRIEVAL_QUESTION.trim());
    expect(retrieval.prompts.map(({ depth, answerTokens }) => [depth, answerTokens])).toEqual(
      [0, 25, 50, 75, 100].map((depth) => [depth, 6]),
    );
    const [f16, four, two] = retrieval.rows;
    expect([f16?.id, four?.id, two?.id]).toEqual(['f16', 'four', 'two']);
    for (const { logProbability, change } of f16?.answers ?? []) {
      expect(logProbability).toBeGreaterThan(-0.1);
      expect(change).toBe(0);
    }
    expect(retrieval.prompts[0]?.withoutKey).toBeLessThan(-4);
    for (const { change } of four?.answers ?? []) expect(Math.abs(change ?? 9)).toBeLessThan(0.1);
    const lost = two?.answers.map(({ change }) => (change ?? 0) < -4);
    expect(lost).toEqual([false, false, true, false, false]);
    expect(two?.answers[2]?.logProbability).toBeCloseTo(
      (f16?.answers[2]?.logProbability ?? 0) + (two?.answers[2]?.change ?? 0),
      10,
    );
    // Retrieval does not decide.
    expect(schemes[2]?.verdict.level).not.toBe('invalid');
  });

  it('is scored by the tokens of the answer alone', async () => {
    const seen: number[] = [];
    const model = fakeModel({
      vocabularySize: VOCABULARY,
      change(logits, { plan, tokens, row }) {
        const inAnswer = row >= tokens.length - 7 && row < tokens.length - 1;
        if (plan?.scheme.id !== 'f16' || tokens.length < 100 || !inAnswer) return;
        seen.push(negativeLogProbability(logits, tokens[row + 1] as number));
      },
    });
    const { retrieval } = await evaluateFake(model, {
      windows: 1,
      schemes: [],
      retrieval: { encode, contexts: [300], depths: [50] },
    });
    // The prompt without the key comes first.
    const meanOf = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
    expect(seen).toHaveLength(12);
    expect(retrieval?.prompts[0]?.withoutKey).toBeCloseTo(-meanOf(seen.slice(0, 6)), 10);
    expect(retrieval?.rows[0]?.answers[0]?.logProbability).toBeCloseTo(-meanOf(seen.slice(6)), 10);
  });

  it('keeps contexts apart', async () => {
    const { retrieval } = await run((position) => position > 900, [400, 1200]);
    const lost = retrieval?.rows[2]?.answers.map(({ change }) => (change ?? 0) < -4);
    expect(lost).toEqual([...Array(5).fill(false), false, false, false, false, true]);
  });

  it('must give f16 a finite answer', async () => {
    const broken = fakeModel({
      vocabularySize: VOCABULARY,
      change(logits, { tokens, row }) {
        if (tokens.length > 80 && row === tokens.length - 3) logits.fill(Number.NaN);
      },
    });
    const retrieval = { encode, contexts: [300] };
    const error = await refusal(evaluateFake(broken, { retrieval }), 'MEASUREMENT_INVALID');
    expect(error.message).toContain('retrieval prompt 0');
  });

  it('makes a scheme invalid whose answer is not finite', async () => {
    const broken = fakeModel({
      vocabularySize: VOCABULARY,
      change(logits, { plan, tokens, row }) {
        if (plan?.scheme.id === 'four' && tokens.length > 80 && row === tokens.length - 3)
          logits.fill(Number.NaN);
      },
    });
    const { schemes, retrieval } = await evaluateFake(broken, {
      retrieval: { encode, contexts: [300] },
    });
    expect(schemes[1]?.verdict.level).toBe('invalid');
    expect(schemes[1]?.verdict.reason).toContain('the answer to retrieval prompt 0');
    expect(retrieval?.rows[1]?.answers[0]).toEqual({ logProbability: null, change: null });
  });
});
