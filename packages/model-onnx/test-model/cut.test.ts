/**
 * SmolLM2-135M-Instruct cut at its attention, against itself uncut. LOWBIT_KV_MODEL names the folder of the model,
 * LOWBIT_KV_TEXT the raw test split of WikiText-2.
 */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { findSites } from '../src/attention/find-sites.js';
import { GraphView } from '../src/attention/graph-view.js';
import { openCutDecoder } from '../src/decoder/cut-decoder.js';
import { openUncut } from '../src/decoder/uncut.js';
import { openModelFiles } from '../src/model/model-files.js';
import { readModel } from '../src/model/read-model.js';
import { openTokenizer } from '../src/text/tokenizer.js';
import { farthest, runCut } from '../test/support/cut-and-whole.js';

const TOKENS = 128;
/** Largest difference of two logits, which reach 34; 6e-5 was measured. */
const TOLERANCE = 2e-4;

function required(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`set ${name}: the header of this file says to what`);
}

const files = () => openModelFiles(required('LOWBIT_KV_MODEL'));

it('has 30 GroupQueryAttention nodes with the rotary embedding inside', async () => {
  const { config, ...model } = await files();
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
  const text = (await readFile(required('LOWBIT_KV_TEXT'), 'utf8')).slice(0, 4000);
  const tokens = (await openTokenizer(required('LOWBIT_KV_MODEL'))).encode(text).slice(0, TOKENS);
  expect(tokens).toHaveLength(TOKENS);
  const cut = await openCutDecoder(await files());
  expect(cut.vocabularySize).toBe(49_152);
  expect(cut.contextLimit).toBe(8192);
  const frequencies = cut.geometry.rotary?.frequencies ?? [];
  expect(frequencies).toHaveLength(32);
  for (const [pair, frequency] of frequencies.entries())
    expect(frequency / 100_000 ** (-pair / 32)).toBeCloseTo(1, 5);
  const uncut = await openUncut(await files());
  const whole = new Float32Array(TOKENS * cut.vocabularySize);
  await uncut.logits(tokens, (row, logits) => whole.set(logits, row * cut.vocabularySize));
  await uncut.dispose();
  expect(whole.reduce((most, x) => Math.max(most, Math.abs(x)), 0)).toBeGreaterThan(10);
  for (const pieces of [[TOKENS], [100, ...Array(28).fill(1)]])
    expect(farthest(await runCut(cut, tokens, pieces), whole)).toBeLessThan(TOLERANCE);
  await cut.dispose();
}, 120_000);
