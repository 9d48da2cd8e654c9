// The program as it stands: it writes what the model library's own loop writes, out of a packed cache.
import { fileURLToPath } from 'node:url';
import { createPlan, referenceBackend } from '@lowbit-kv/core';
import * as models from '@lowbit-kv/model-onnx';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { expect, test } from 'vitest';
import { generate } from '../generate.js';

const folder = fileURLToPath(new URL('../../../fixtures/tiny-decoder', import.meta.url));
const prompt = 'The Loire is the longest river in France. '.repeat(2);

test('writes token by token, in less than half of the bytes of f16', async () => {
  const pieces: string[] = [];
  const write = (piece: string) => pieces.push(piece);
  const result = await generate(folder, prompt, { maxTokens: 40, write });

  const tokenizer = await models.openTokenizer(folder);
  const ids = tokenizer.encode(prompt);
  // The last token is written, and no step has run it.
  expect(result.tokens).toBe(ids.length + 39);
  // Keys pack 32 at a time; of values at most 32 stay f16.
  expect(result.packed).toEqual([96, result.tokens - 32]);
  expect(result.bytes).toBeLessThan(result.f16Bytes / 2);

  const decoder = await models.openCutDecoder(await models.openModelFiles(folder));
  const plan = createPlan(kivi({ bits: 4, residualLength: 32 }), decoder.geometry);
  const run = await models.openTokenRun(decoder, plan, {
    backend: referenceBackend(),
    tokens: ids.length + 40,
  });
  const text = tokenizer.createTextStream();
  const expected: string[] = [];
  const options = { prompt: ids, sampler: models.largestLogit, maxTokens: 40 };
  for await (const { token } of models.generate(run, { ...options, eosIds: tokenizer.eosIds }))
    expected.push(text.push(token));
  expected.push(text.flush());
  expect(pieces.join('')).toBe(expected.join(''));
  expect(new Set(pieces).size).toBeGreaterThan(1);
  await run.dispose();
  await decoder.dispose();
});
