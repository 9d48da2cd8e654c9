// What ends a generation, and that nothing is lost by an interruption.
import { createPlan, referenceBackend } from '@lowbit-kv/core';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openCutDecoder } from '../src/decoder/cut-decoder.js';
import type { Decoder } from '../src/decoder/decoder.js';
import { type GenerateOptions, generate } from '../src/generate/generate.js';
import { openTokenRun, type TokenRun } from '../src/generate/token-run.js';
import { modelFromBytes } from '../src/model/model-files.js';
import { largestLogit } from '../src/text/sample.js';
import { modelBytes } from './support/graph-writer.js';
import { tinyDecoder } from './support/tiny-decoders.js';
import { groupQuery } from './support/tiny-group-query.js';

const PROMPT = Array.from({ length: 40 }, (_, i) => (i * 7) % 50);
const OPTIONS = { prompt: PROMPT, sampler: largestLogit, maxTokens: 12, eosIds: [] };
let decoder: Decoder;

beforeAll(async () => {
  const { model } = tinyDecoder(groupQuery(), { sizes: { headDim: 32 } });
  decoder = await openCutDecoder(modelFromBytes({ model: modelBytes(model) }), { threads: 1 });
});
afterAll(() => decoder.dispose());

/** `inLayer` is called as each layer attends. */
function startRun(inLayer?: () => void): Promise<TokenRun> {
  const watched: Decoder = {
    ...decoder,
    forward: (tokens, options) =>
      decoder.forward(tokens, {
        ...options,
        attend: (layer, tensors) => {
          inLayer?.();
          return options.attend(layer, tensors);
        },
      }),
  };
  const plan = createPlan(kivi({ bits: 4 }), decoder.geometry);
  return openTokenRun(watched, plan, { backend: referenceBackend(), tokens: 128 });
}

async function collect(run: TokenRun, options: GenerateOptions, tokens: number[] = []) {
  const steps = generate(run, options);
  while (true) {
    const step = await steps.next();
    if (step.done === true) return { tokens, end: step.value };
    tokens.push(step.value.token);
  }
}

it('ends at the number of tokens or at a token that ends texts', async () => {
  const all = await collect(await startRun(), OPTIONS);
  expect(all.end).toBe('length');
  expect(all.tokens).toHaveLength(12);
  const last = all.tokens[4] as number;
  const ended = await collect(await startRun(), { ...OPTIONS, eosIds: [last] });
  expect(ended).toEqual({ tokens: all.tokens.slice(0, all.tokens.indexOf(last) + 1), end: 'eos' });
});

it.each([0, 1, 2, 5])(
  'stops within a step, at layer %d, and goes on from there',
  async (layers) => {
    const all = await collect(await startRun(), OPTIONS);
    const controller = new AbortController();
    const reason = new Error('enough');
    let met = 0;
    const run = await startRun(() => {
      if (met++ === layers) controller.abort(reason);
    });
    const stopped: number[] = [];
    const options = { ...OPTIONS, signal: controller.signal };
    await expect(collect(run, options, stopped)).rejects.toBe(reason);
    // The layer that met the signal ends its own work: only a step's last layer lets the step end.
    const given = Math.ceil((layers - 1) / 2);
    expect(stopped).toEqual(all.tokens.slice(0, Math.max(0, given)));
    const left = stopped.length === 0 ? PROMPT : stopped.slice(run.length - 40);
    const rest = await collect(run, { ...OPTIONS, prompt: left, maxTokens: 3 });
    expect(rest.tokens).toEqual(all.tokens.slice(stopped.length, stopped.length + 3));
  },
);

it('gives failures of a step on, also those that look like an interruption', async () => {
  const reason = new Error('a fault');
  const run = await startRun(() => {
    throw reason;
  });
  const { signal } = new AbortController();
  await expect(collect(run, { ...OPTIONS, signal })).rejects.toBe(reason);
  expect(run.length).toBe(0);
});

it.each([{ prompt: [] }, { maxTokens: 0 }, { maxTokens: 1.5 }])('refuses %o', async (wrong) => {
  const run = await startRun();
  await expect(collect(run, { ...OPTIONS, ...wrong })).rejects.toThrow(/OPTION_INVALID/);
});
