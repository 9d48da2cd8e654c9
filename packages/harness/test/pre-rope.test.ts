/** Keys before the rotary embedding: captured or rotated back, calibrated on, replayed, tuned; and captures without them. */
import { type CalibrationSample, decodeF16, encodeF16, referenceBackend } from '@lowbit-kv/core';
import { lcgNormal, nmse, rotateKeys as readableRotation } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import { readCaptureData } from '../src/capture-data.js';
import { defaultCalibration } from '../src/default-capture-facts.js';
import {
  captureGeometry,
  compareSchemes,
  defaultCapturePath,
  type MeasuredRow,
  openCapture,
  tuneScheme,
} from '../src/index.js';
import { type CaptureRotary, rotaryOf, rotateKeys } from '../src/rotary.js';
import { refusal } from './support/failures.js';
import { safetensorsBytes, type TestTensor } from './support/safetensors-bytes.js';
import { affine, bandScheme, scheme } from './support/schemes.js';

const SHAPE = { queryHeads: 4, kvHeads: 2, keyHeadDim: 32, valueHeadDim: 32 };
const TOKENS = 320;
const ROPE = { rope_style: 'half-split', rope_theta: '10000' };
/** What these metadata say, of 32 channels. */
const FREQUENCIES = Array.from({ length: 16 }, (_, pair) => 10000 ** (-pair / 16));

interface Made {
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether the file holds the keys before the embedding. */
  readonly captured: boolean;
}

/** Keys with loud channels before the embedding, which the embedding smears over positions. */
async function ropeCapture({ metadata, captured }: Partial<Made> = {}) {
  const tensors: Record<string, TestTensor> = {};
  const drawn = (
    seed: number,
    heads: number,
    rows: number,
    channelOps: { channel: number; mul: number; add: number }[] = [],
  ) => ({
    dtype: 'F16',
    shape: [1, heads, rows, 32],
    data: lcgNormal({ seed, shape: [1, heads, rows, 32], dtype: 'f16', channelOps }),
  });
  for (const layer of [1, 4]) {
    const before = drawn(10 * layer, 2, TOKENS, [
      { channel: 3, mul: 1, add: 40 },
      { channel: 20, mul: 6, add: 0 },
    ]);
    // Heads lie apart in a capture: each is rotated on its own.
    const size = TOKENS * 32;
    const after = [0, 1].flatMap((head) => [
      ...readableRotation(
        decodeF16(before.data.subarray(head * size, (head + 1) * size)),
        { tokens: TOKENS, kvHeads: 1, keyDim: 32 },
        { pairs: 'halves', frequencies: FREQUENCIES },
      ),
    ]);
    tensors[`layers.${layer}.key`] = { ...before, data: encodeF16(Float32Array.from(after)) };
    tensors[`layers.${layer}.value`] = drawn(10 * layer + 1, 2, TOKENS);
    tensors[`layers.${layer}.query`] = drawn(10 * layer + 2, 4, 24);
    if (captured !== false) tensors[`layers.${layer}.key_pre_rope`] = before;
  }
  return openCapture(
    safetensorsBytes(tensors, {
      ...{ format: 'lowbit-kv-capture', version: '1', scale: '0.17' },
      ...(metadata ?? ROPE),
    }),
  );
}

/** Groups of tokens of one channel: loud channels cost nothing before the embedding, and much after it. */
const keys = (stage: 'pre-rope' | 'post-rope') => {
  const tensor = affine(4, 'tokens', 32, { recent: 0, flush: 32 });
  if (tensor.bits === 16) throw new Error('a quantized tensor is wanted');
  return { ...tensor, stage };
};
const before = scheme('before', keys('pre-rope'), { bits: 16 });
const after = scheme('after', keys('post-rope'), { bits: 16 });

async function rowsOf(made: Partial<Made>, schemes = [before, after]) {
  const capture = await ropeCapture(made);
  const report = await compareSchemes({ capture, schemes, backend: referenceBackend() });
  return report.schemes.slice(1);
}

describe('the embedding of a capture', () => {
  it.each([
    ['half-split', {}],
    ['interleaved', { rope_dimensions: '20' }],
    ['half-split', { rope_frequencies: '[1, 0.25, 0.003]' }],
  ])('%s %j: rotates as the readable rotation does, and back', (rope_style, more) => {
    const rotary = rotaryOf({ ...ROPE, rope_style, ...more }, SHAPE) as CaptureRotary;
    const plain = Float32Array.from(lcgNormal({ seed: 5, shape: [9 * 64], dtype: 'f32' }));
    const rotated = rotateKeys(plain, SHAPE, rotary.embedding, 0);
    const expected = readableRotation(
      plain,
      { tokens: 9, kvHeads: 2, keyDim: 32 },
      rotary.embedding,
    );
    expect(nmse(rotated, expected)).toBeLessThan(1e-28);
    expect(nmse(rotated, plain)).toBeGreaterThan(0.01);
    const later = Float32Array.from(rotateKeys(plain, SHAPE, rotary.embedding, 700));
    expect(nmse(rotateKeys(later, SHAPE, rotary.embedding, 700, true), plain)).toBeLessThan(1e-13);
  });

  it('goes into the geometry, for plans and graphs', async () => {
    expect(captureGeometry(await ropeCapture())).toMatchObject({
      ...{ layers: 2, keyHeadDim: 32 },
      rotary: { pairs: 'halves', base: 10000 },
    });
    expect(captureGeometry(await ropeCapture({ metadata: {} }))).not.toHaveProperty('rotary');
  });
});

describe('a comparison', () => {
  it('feeds keys from before the embedding to schemes that store those', async () => {
    const [first, second] = (await rowsOf({})) as [MeasuredRow, MeasuredRow];
    expect(first.checks.map(({ result }) => result)).toEqual(['passed', 'passed']);
    expect(first.key.nmse).toBeGreaterThan(1e-4);
    expect(first.key.nmse).toBeLessThan((second.key.nmse as number) / 3);
    expect(first.output.nmse).toBeGreaterThan(1e-5);
    expect(first.output.nmse).toBeLessThan((second.output.nmse as number) / 3);
    expect(first.cause?.valuesOnly).toBeLessThan(1e-12);
    // The cause is of the cache after the last step, the error of every query in its turn.
    const share = (first.cause?.keysOnly as number) / (first.output.worstHead.nmse as number);
    expect(share).toBeGreaterThan(0.9);
    expect(share).toBeLessThan(1.1);
  });

  it('rotates keys back when the capture has none, with the rounding to f16 that this costs', async () => {
    const [captured] = (await rowsOf({}, [before])) as [MeasuredRow];
    const [derived] = (await rowsOf({ captured: false }, [before])) as [MeasuredRow];
    expect(derived.output.nmse).not.toBe(captured.output.nmse);
    expect(derived.output.nmse).toBeCloseTo(captured.output.nmse as number, 3);
    const data = await readCaptureData(await ropeCapture(), 4);
    const without = await readCaptureData(await ropeCapture({ captured: false }), 4);
    for (const [i, layer] of data.layers.entries()) {
      const error = nmse(without.layers[i]?.preRope().exact ?? [], layer.preRope().exact);
      expect(error).toBeGreaterThan(1e-9);
      expect(error).toBeLessThan(2e-7);
    }
  });

  it('calibrates such schemes on keys from before the embedding', async () => {
    const seen: CalibrationSample[] = [];
    const bands = bandScheme('bands', seen);
    const stored = { ...bands, key: { ...bands.key, stage: 'pre-rope' } as const };
    const [row] = await rowsOf({}, [stored]);
    expect(row?.status).toBe('measured');
    const data = await readCaptureData(await ropeCapture(), 4);
    const first = data.layers[0]?.preRope().exact as Float32Array;
    expect(seen[0]?.layer).toBe(0);
    expect(seen[0]?.key).toEqual(first.subarray(0, seen[0]?.key.length));
  });

  it('is a refused row when the capture does not say how its keys were rotated', async () => {
    const [row, other] = await rowsOf({ metadata: { rope_theta: '10000' }, captured: false });
    expect(row).toMatchObject({ status: 'refused', code: 'PLAN_REFUSED' });
    expect(row?.verdict.reason).toContain('rope_style');
    expect(row?.verdict.reason).toContain('Add them to the capture');
    expect(other?.status).toBe('measured');
    const unknown = await rowsOf({ metadata: { ...ROPE, rope_theta: 'many' } }, [before]);
    expect(unknown[0]).toMatchObject({ status: 'refused', code: 'PLAN_REFUSED' });
    const none = await rowsOf({ metadata: { rope_style: 'interleaved' } }, [before]);
    expect(none[0]?.verdict.reason).toContain('rope_theta');
  });

  it('is a refused row when the queries stand at other positions than a cache has', async () => {
    const metadata = { ...ROPE, positions: `7..${TOKENS + 6}` };
    const [row] = await rowsOf({ metadata, captured: false }, [before]);
    expect(row).toMatchObject({ status: 'refused', code: 'PLAN_REFUSED' });
    expect(row?.verdict.reason).toContain('begin at 0');
  });

  it('refuses a capture whose keys do not become each other', async () => {
    const metadata = { ...ROPE, rope_theta: '500000' };
    const error = await refusal(rowsOf({ metadata }, [before]), 'CAPTURE_INVALID');
    expect(error.message).toContain('layers.1.key_pre_rope');
    // Nobody asks for them here.
    expect((await rowsOf({ metadata }, [after]))[0]?.status).toBe('measured');
  });
});

it('tunes over both kinds of keys, and the replay agrees with the table', async () => {
  const report = await tuneScheme({
    capture: await ropeCapture(),
    presets: [before, after],
    budgetBits: 12,
    backend: referenceBackend(),
    windows: { sinks: 4, recent: 16 },
    positions: 6,
  });
  expect(report.candidates.key.map(({ presets }) => presets[0])).toEqual([
    'before',
    'after',
    'f16',
  ]);
  expect(report.allocation.layers.map(({ key }) => key)).toContain('before');
  expect(report.schemeFile.scheme.key).toMatchObject({ stage: 'pre-rope' });
});

it('rotates the held-out sample of the default capture back from its own positions', async () => {
  const capture = await openCapture(defaultCapturePath());
  const data = await readCaptureData(capture, 1);
  const source = await defaultCalibration(capture.layers, data);
  const samples = async (stage: 'pre-rope' | 'post-rope') => {
    const all: CalibrationSample[] = [];
    for await (const sample of source.samples(stage)) all.push(sample);
    return all;
  };
  const [rotated, plain] = [await samples('post-rope'), await samples('pre-rope')];
  expect(plain).toHaveLength(rotated.length);
  const { embedding } = data.rotary as CaptureRotary;
  for (const [i, { key, layer, tokens }] of plain.entries()) {
    const first = 1024 + (i < capture.layers.length ? 0 : tokens);
    const again = rotateKeys(key, data.sizes, embedding, first);
    const original = rotated[i] as CalibrationSample;
    expect(original.layer).toBe(layer);
    expect(nmse(again, original.key)).toBeLessThan(1e-7);
    expect(nmse(key, original.key)).toBeGreaterThan(0.1);
    expect(plain[i]?.value).toEqual(original.value);
  }
  await capture.close();
});
