/**
 * SmolLM2-135M-Instruct by past injection: with f16 the same logits as the uncut model.
 */
import { createPlan, referenceBackend } from '@lowbit-kv/core';
import { maxAbsDifference } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { openUncut } from '../src/decoder/uncut.js';
import { openInjectedDecoder } from '../src/inject/injected-decoder.js';
import { openInjectedRun } from '../src/inject/injected-run.js';
import { f16 } from '../test/support/every-preset.js';
import { extendBy } from '../test/support/injected.js';
import { modelFiles } from './support/real-model.js';

const TEXT = [504, 1977, 1575, 4052, 28, 13207, 253, 3950, 30, 657, 198, 198];
const TOKENS = [...TEXT, ...TEXT.toReversed()];
/** Logits are up to 37; the past is rounded to f16, which gives 0.01. */
const LOGITS = 0.05;

it('gives the logits of the uncut model', async () => {
  const files = await modelFiles();
  const uncut = await openUncut(files);
  const expected = new Float32Array(TOKENS.length * 49_152);
  await uncut.logits(TOKENS, (_, logits) => expected.set(logits));
  await uncut.dispose();
  const decoder = await openInjectedDecoder(files);
  expect(decoder.geometry).toMatchObject({ layers: 30, queryHeads: 9, kvHeads: 3, keyHeadDim: 64 });
  const plan = createPlan(f16, decoder.geometry);
  const run = await openInjectedRun(decoder, plan, { backend: referenceBackend(), tokens: 64 });
  const pieces = [TEXT.length, ...TEXT.map(() => 1)];
  const logits = await extendBy(run, decoder.vocabularySize, TOKENS, pieces);
  expect(maxAbsDifference(expected, new Float32Array(expected.length))).toBeGreaterThan(10);
  expect(maxAbsDifference(logits, expected)).toBeLessThan(LOGITS);
  await run.dispose();
  await decoder.dispose();
});
