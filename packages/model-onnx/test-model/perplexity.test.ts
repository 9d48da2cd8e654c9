/**
 * Evaluation of SmolLM2-135M-Instruct: the perplexity of torch, and what two schemes do to it.
 */
import { referenceBackend } from '@lowbit-kv/core';
import { type EvalMeasuredRow, evaluate } from '@lowbit-kv/harness';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { expect, it } from 'vitest';
import { openCutDecoder } from '../src/decoder/cut-decoder.js';
import { openUncut } from '../src/decoder/uncut.js';
import { evaluatedModel } from '../src/evaluated-model.js';
import { AttentionSessions } from '../src/replay/attention-graph.js';
import { modelFiles, textTokens } from './support/real-model.js';

const TOKENS = 2048;
/** torch, f32, the same weights dequantized, the first 2048 tokens as one window. */
const PERPLEXITY = 15.1468;

it('has the perplexity of torch in f16, and schemes keep or lose it', async () => {
  const files = await modelFiles();
  const decoder = await openCutDecoder(files);
  const uncut = await openUncut(files);
  const attention = await AttentionSessions.open();
  const model = evaluatedModel({
    name: 'real',
    decoder,
    attention,
    uncut: uncut.logits,
    backend: referenceBackend(),
    tokens: TOKENS,
  });
  const tokens = await textTokens(TOKENS);
  const report = await evaluate({
    model,
    text: { name: 'wikitext-2', sha256: '', tokens },
    schemes: [kivi({ bits: 4 }), kivi({ bits: 2 })],
    windows: 1,
    windowTokens: TOKENS,
  });
  await Promise.all([decoder.dispose(), uncut.dispose(), attention.release()]);
  expect(report.valid).toBe(true);
  const [f16, four, two] = report.schemes as EvalMeasuredRow[];
  expect(Math.abs((f16?.perplexity.value ?? 0) - PERPLEXITY)).toBeLessThan(0.01);
  expect(four?.verdict.level).toBe('safe');
  expect(four?.perplexityRatio.value).toBeGreaterThan(1);
  expect(four?.perplexityRatio.value).toBeLessThan(1.05);
  expect(two?.verdict.level).toBe('unsafe');
  expect(two?.perplexityRatio.value).toBeGreaterThan(1.2);
  expect(two?.noise.worstKeys.nmse).toBeGreaterThan(5 * (four?.noise.worstKeys.nmse ?? 0));
});
