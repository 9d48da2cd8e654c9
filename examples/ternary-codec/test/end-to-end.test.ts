// The scheme in a real cache and through the comparison, as any other scheme.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  bitsPerElement,
  createLowbitKv,
  decodeF16,
  f16Tensor,
  f32Tensor,
  type Geometry,
  paperBitsPerElement,
  planBytes,
  referenceBackend,
} from '@lowbit-kv/core';
import {
  DECODED_ATTENTION_OUTPUT,
  lcgNormal,
  nmse,
  referenceAttention,
} from '@lowbit-kv/core/testing';
import { compareSchemes, openCapture, writeSafetensors } from '@lowbit-kv/harness';
import { afterAll, expect, test } from 'vitest';
import { ternary } from '../src/index.js';

const geometry: Geometry = {
  layers: 2,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 128,
  valueHeadDim: 64,
};
const TOKENS = 300;
const kv = createLowbitKv({ schemes: [ternary] });
const plan = kv.plan('ternary', geometry);

const drawn = (seed: number, shape: readonly number[]) =>
  f16Tensor(lcgNormal({ seed, shape, dtype: 'f16' }), shape);

async function filledCache() {
  const cache = await kv.createCache(plan, { capacity: { tokens: 512, sequences: 2 } });
  const sequence = cache.createSequence();
  const layers = [0, 1].map((layer) => ({
    key: drawn(10 + layer, [TOKENS, 2, 128]),
    value: drawn(20 + layer, [TOKENS, 2, 64]),
  }));
  await cache.append([{ sequence, tokens: TOKENS }], layers);
  return { cache, sequence, layers };
}

test('bits per element are the bytes of the groups', () => {
  const { key, value } = bitsPerElement(plan);
  expect(key).toMatchObject({ codes: 1.8, parameters: 0, total: 1.8 });
  expect(value).toMatchObject({ codes: 1.875, parameters: 0, total: 1.875 });
  expect(paperBitsPerElement(ternary.key, { kvHeads: 2, headDim: 128 })).toBe(1.8);
});

test('bytes of a cache are what the plan says, and what the bits say', async () => {
  const { cache } = await filledCache();
  const { bytes } = await cache.stats();
  const planned = planBytes(plan, TOKENS);
  expect(bytes).toMatchObject({ codes: planned.codes, live: planned.total, parameters: 0 });
  // 16 sinks; of the other 284 tokens 240 keys are packed (three times 80), and all but 32 values.
  const perLayer = 2 * (240 * 128 * 1.8 + 252 * 64 * 1.875);
  expect(bytes.codes).toBe((2 * perLayer) / 8);
  expect(bytes.windows).toBe(2 * 2 * 2 * (60 * 128 + 48 * 64));
  cache.dispose();
});

test('attention is that of float64 over the decoded cache, which is ternary', async () => {
  const { cache, sequence, layers } = await filledCache();
  const query = f32Tensor(lcgNormal({ seed: 5, shape: [3, 4, 128], dtype: 'f32' }), [3, 4, 128]);
  for (const layer of [0, 1]) {
    const { key, value } = await cache.materialize(sequence, layer);
    const original = decodeF16(layers[layer]?.key.data as Uint16Array);
    const packed = key.data.subarray(16 * 256, 256 * 256);
    const magnitudes = Array.from({ length: 80 }, (_, token) => Math.abs(packed[token * 256] ?? 9));
    expect(new Set(magnitudes).size).toBe(2);
    expect(key.data.subarray(0, 16 * 256)).toEqual(original.subarray(0, 16 * 256));
    expect(key.data.subarray(256 * 256)).toEqual(original.subarray(256 * 256));
    const { output } = await cache.attend(layer, query, [sequence], { queries: [3] }).read();
    const oracle = referenceAttention({
      keys: key.data,
      values: value.data,
      queries: query.data,
      tokens: TOKENS,
      queryTokens: 3,
      queryHeads: 4,
      kvHeads: 2,
      keyDim: 128,
      valueDim: 64,
      scale: 128 ** -0.5,
    });
    expect(nmse(output.data, oracle.output)).toBeLessThanOrEqual(DECODED_ATTENTION_OUTPUT.value);
  }
  cache.dispose();
});

test('a snapshot restores to the same bytes', async () => {
  const { cache, sequence } = await filledCache();
  const bytes = await cache.snapshot([sequence]);
  const [restored] = await cache.restore(bytes);
  if (restored === undefined) return expect.fail('nothing was restored');
  expect(await cache.snapshot([restored])).toEqual(bytes);
  cache.dispose();
});

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-ternary-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a row of a comparison', async () => {
  const path = join(folder, 'capture.safetensors');
  await writeSafetensors(
    path,
    ['key', 'value', 'query'].map((part, seed) => {
      const shape = [1, 2, part === 'query' ? 4 : 400, 64];
      const data = lcgNormal({ seed, shape, dtype: 'f16' });
      return { name: `layers.0.${part}`, dtype: 'F16' as const, shape, data };
    }),
    { format: 'lowbit-kv-capture', version: '1', scale: '0.125' },
  );
  const capture = await openCapture(path);
  try {
    const report = await compareSchemes({
      capture,
      schemes: [ternary],
      backend: referenceBackend(),
    });
    expect(report.valid).toBe(true);
    const row = report.schemes.find(({ id }) => id === 'ternary');
    if (row?.status !== 'measured') return expect.fail(`the row is ${row?.status}`);
    // Of 400 tokens 320 keys are packed (four times 80), and 352 values.
    expect(row.bits.packed?.total).toBeCloseTo((320 * 1.8 + 352 * 1.875) / (320 + 352), 9);
    // Ternary keeps about four fifths of the energy of normal data.
    for (const tensor of [row.key, row.value]) {
      expect(tensor.nmse).toBeGreaterThan(0.1);
      expect(tensor.nmse).toBeLessThan(0.3);
    }
    expect(row.output.nmse).toBeGreaterThan(0.01);
    expect(row.output.nmse).toBeLessThan(0.6);
  } finally {
    await capture.close();
  }
});
