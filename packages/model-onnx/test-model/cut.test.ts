/**
 * SmolLM2-135M-Instruct cut at its attention, against itself uncut.
 */
import { expect, it } from 'vitest';
import { findSites } from '../src/attention/find-sites.js';
import { GraphView } from '../src/attention/graph-view.js';
import { openCutDecoder } from '../src/decoder/cut-decoder.js';
import { openUncut } from '../src/decoder/uncut.js';
import { readModel } from '../src/model/read-model.js';
import { farthest, runCut } from '../test/support/cut-and-whole.js';
import { modelFiles, textTokens } from './support/real-model.js';

const TOKENS = 128;
/** Largest difference of two logits, which reach 34; 6e-5 was measured. */
const TOLERANCE = 2e-4;

it('has 30 GroupQueryAttention nodes with the rotary embedding inside', async () => {
  const { config, ...model } = await modelFiles();
  const sites = findSites(new GraphView((await readModel({ config, ...model })).model), config);
  expect(sites).toHaveLength(30);
  for (const site of sites)
    expect(site).toMatchObject({
      form: 'GroupQueryAttention',
      elementType: 'float32',
      geometry: {
        ...{ queryHeads: 9, kvHeads: 3, keyHeadDim: 64, valueHeadDim: 64 },
        ...{ scale: 0.125, softCap: null, window: null },
      },
      rotary: { cosine: 'cos_cache', sine: 'sin_cache', pairs: 'halves' },
      causal: true,
      masks: [],
    });
});

it('gives the logits of the uncut model, in one window and by steps', async () => {
  const tokens = await textTokens(TOKENS);
  expect(tokens).toHaveLength(TOKENS);
  const cut = await openCutDecoder(await modelFiles());
  expect(cut.vocabularySize).toBe(49_152);
  expect(cut.contextLimit).toBe(8192);
  const frequencies = cut.geometry.rotary?.frequencies ?? [];
  expect(frequencies).toHaveLength(32);
  for (const [pair, frequency] of frequencies.entries())
    expect(frequency / 100_000 ** (-pair / 32)).toBeCloseTo(1, 5);
  const uncut = await openUncut(await modelFiles());
  const whole = new Float32Array(TOKENS * cut.vocabularySize);
  await uncut.logits(tokens, (row, logits) => whole.set(logits, row * cut.vocabularySize));
  await uncut.dispose();
  expect(whole.reduce((most, x) => Math.max(most, Math.abs(x)), 0)).toBeGreaterThan(10);
  for (const pieces of [[TOKENS], [100, ...Array(28).fill(1)]])
    expect(farthest(await runCut(cut, tokens, pieces), whole)).toBeLessThan(TOLERANCE);
  await cut.dispose();
});
