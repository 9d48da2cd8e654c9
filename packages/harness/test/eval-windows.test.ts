/** Windows of an evaluation: one rule, the same for every scheme, and refused where they do not fit. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { EvaluateOptions } from '../src/index.js';
import { refusal } from './support/failures.js';
import {
  evalRow,
  evaluateFake,
  FOUR,
  fakeOptions,
  WINDOW_TOKENS,
} from './support/fake-evaluation.js';
import { fakeModel, fakeTokens } from './support/fake-model.js';
import { channelwise } from './support/schemes.js';

it('follow one another without overlap and without tokens of their own, the same for all', async () => {
  const runs: [string, readonly number[]][] = [];
  const model = fakeModel({
    onRun: (plan, tokens) => runs.push([plan?.scheme.id ?? 'uncut', tokens]),
  });
  const { windows, schemes } = await evaluateFake(model);
  const text = fakeTokens(300);
  const expected = [0, 1, 2].map((i) => text.slice(i * WINDOW_TOKENS, (i + 1) * WINDOW_TOKENS));
  for (const id of ['uncut', 'f16', 'four', 'two'])
    expect(runs.filter(([run]) => run === id).map(([, tokens]) => tokens)).toEqual(expected);
  expect(runs.slice(0, 4).map(([id]) => id)).toEqual(['uncut', 'f16', 'four', 'two']);
  const bytes = Buffer.alloc(4 * 240);
  for (const [i, token] of expected.flat().entries()) bytes.writeUInt32LE(token, 4 * i);
  expect(windows).toMatchObject({
    count: 3,
    windowTokens: 80,
    stride: 80,
    predictions: 3 * 79,
    tokensSha256: createHash('sha256').update(bytes).digest('hex'),
  });
  expect(windows.description).toContain('from an empty cache');
  expect(schemes.map(({ id }) => id)).toEqual(['f16', 'four', 'two']);
});

it('may leave out the row that predicts nothing, and give rows in any order and parts', async () => {
  const whole = await evaluateFake();
  const parts = await evaluateFake(
    fakeModel({
      deliver(rows, sink) {
        const rowsOf = (from: number, to: number) => rows.subarray(from * 50, to * 50);
        sink(40, rowsOf(40, 79));
        sink(0, rowsOf(0, 1));
        sink(1, rowsOf(1, 40));
      },
    }),
  );
  expect(evalRow(parts, 'two').divergence).toEqual(evalRow(whole, 'two').divergence);
  expect(evalRow(parts, 'two').perplexity).toEqual(evalRow(whole, 'two').perplexity);
});

describe('are refused', () => {
  const text = (tokens: readonly number[]) => ({ text: { name: 'text', sha256: '', tokens } });
  const cases: [string, Partial<EvaluateOptions>, RegExp][] = [
    ['where the text is too short', { windows: 4 }, /too short for 4 windows of 80 tokens/],
    ['where not one fits', { windows: 1, ...text(fakeTokens(79)) }, /too short/],
    ['beyond the context of the model', { windowTokens: 97 }, /longer than the context/],
    ['with one token', { windowTokens: 1 }, /windowTokens must be an integer of at least 2/],
    ['with half a token', { windowTokens: 40.5 }, /windowTokens/],
    ['as none', { windows: 0 }, /windows must be/],
    ['as NaN', { windows: Number.NaN }, /windows must be/],
    ['with tokens beyond the vocabulary', text([...fakeTokens(239), 50]), /does not know/],
    ['with tokens that are no integers', text([0.5, ...fakeTokens(239)]), /does not know/],
    ['for two schemes of one id', { schemes: [FOUR, FOUR] }, /the same id/],
    ['for a scheme called f16', { schemes: [channelwise('f16', 4)] }, /the same id/],
    ['for a scheme called uncut', { schemes: [channelwise('uncut', 4)] }, /the same id/],
  ];
  it.each(cases)('%s', async (_, more, message) => {
    let runs = 0;
    const model = fakeModel({ contextLimit: 96, onRun: () => runs++ });
    const error = await refusal(evaluateFake(model, more), 'OPTION_INVALID');
    expect(error.message).toMatch(message);
    expect(runs).toBe(0);
  });

  it('saying how many fit', async () => {
    const error = await refusal(evaluateFake(fakeModel(), { windows: 9 }), 'OPTION_INVALID');
    expect(error.next).toContain('at most 3 windows');
  });

  it('only for tokens that are used', async () => {
    const options = fakeOptions(fakeModel(), { windows: 1, ...text([...fakeTokens(80), 9999]) });
    expect((await evaluateFake(options.model, options)).windows.count).toBe(1);
  });
});
