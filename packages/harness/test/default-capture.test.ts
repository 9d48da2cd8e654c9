/** The shipped capture: its sizes, and figures that garbled data would not have. */

import { decodeF16 } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { type CaptureLayer, defaultCapturePath, openCapture } from '../src/index.js';
import { cpuTime } from './support/cpu-time.js';

async function readAll(): Promise<CaptureLayer[]> {
  const capture = await openCapture(defaultCapturePath());
  const layers: CaptureLayer[] = [];
  for (const index of capture.layers) layers.push(await capture.readLayer(index));
  await capture.close();
  return layers;
}
const layers = await readAll();

it('has the sizes and the provenance that data/README.md states', async () => {
  const capture = await openCapture(defaultCapturePath());
  expect(capture).toMatchObject({
    layers: [0, 10, 18, 29],
    queryHeads: 9,
    kvHeads: 3,
    keyHeadDim: 64,
    valueHeadDim: 64,
    tokens: 1024,
    queries: 128,
    scale: 0.125,
    hasKeyPreRope: false,
  });
  expect(capture.provenance).toMatchObject({
    model: expect.stringMatching(/SmolLM2-135M-Instruct.*Apache-2\.0/),
    text: expect.stringMatching(/WikiText-2.*CC BY-SA 3\.0/),
    positions: '0..1023',
    rope_theta: '100000',
  });
  await capture.close();
});

it('is read whole in under 100 ms', async () => {
  const times: number[] = [];
  for (let run = 0; run < 5; run++) {
    const start = cpuTime();
    expect(await readAll()).toHaveLength(4);
    times.push(cpuTime() - start);
  }
  expect(Math.min(...times)).toBeLessThan(100);
});

/**
 * Computed once from the file with numpy in float64: root mean squares, the largest |k|, the channel
 * of head 1 with the largest maximum and that maximum over the median channel's, and the mean entropy
 * of the attention of the 128 queries (natural logarithm, causal, query head i on kv head i / 3).
 */
const FIGURES = [
  {
    layer: 0,
    key: 1.2556,
    value: 0.0437,
    query: 1.0778,
    largest: 10.125,
    channel: 55,
    ratio: 3.083,
    entropy: 6.0802,
  },
  {
    layer: 10,
    key: 2.456,
    value: 0.5611,
    query: 1.6587,
    largest: 20.984,
    channel: 24,
    ratio: 5.158,
    entropy: 3.3194,
  },
  {
    layer: 18,
    key: 2.6104,
    value: 1.0712,
    query: 2.1469,
    largest: 24.781,
    channel: 24,
    ratio: 4.486,
    entropy: 1.5688,
  },
  {
    layer: 29,
    key: 2.0054,
    value: 1.6454,
    query: 2.0064,
    largest: 15.141,
    channel: 56,
    ratio: 3.831,
    entropy: 2.5857,
  },
];

const HEAD = 1024 * 64;

describe.each(FIGURES)('layer $layer', (figures) => {
  const layer = layers.find(({ index }) => index === figures.layer) as CaptureLayer;
  const key = decodeF16(layer.key);

  it('has the root mean squares of real keys, values and queries', () => {
    expect(rootMeanSquare(key)).toBeCloseTo(figures.key, 3);
    expect(rootMeanSquare(decodeF16(layer.value))).toBeCloseTo(figures.value, 3);
    expect(rootMeanSquare(layer.query)).toBeCloseTo(figures.query, 3);
  });

  it('has keys with outlier channels', () => {
    expect(key.reduce((max, k) => Math.max(max, Math.abs(k)), 0)).toBeCloseTo(figures.largest, 2);
    const maxima = channelMaxima(key.subarray(HEAD, 2 * HEAD));
    const sorted = maxima.toSorted((a, b) => a - b);
    const median = ((sorted[31] ?? 0) + (sorted[32] ?? 0)) / 2;
    expect(maxima.indexOf(sorted[63] ?? 0)).toBe(figures.channel);
    expect((sorted[63] ?? 0) / median).toBeCloseTo(figures.ratio, 2);
  });

  it('attends like the model: queries fit the keys of their kv head and position', () => {
    let entropy = 0;
    for (let head = 0; head < 9; head++) {
      const keys = key.subarray(Math.floor(head / 3) * HEAD);
      for (let row = 0; row < 128; row++) {
        const query = layer.query.subarray((head * 128 + row) * 64, (head * 128 + row + 1) * 64);
        entropy += attentionEntropy(query, keys, 896 + row + 1) / (9 * 128);
      }
    }
    expect(entropy).toBeCloseTo(figures.entropy, 3);
  });
});

function rootMeanSquare(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);
}

/** The largest magnitude of each of 64 channels. */
function channelMaxima(head: Float32Array): number[] {
  const maxima = new Array<number>(64).fill(0);
  head.forEach((k, i) => {
    maxima[i % 64] = Math.max(maxima[i % 64] ?? 0, Math.abs(k));
  });
  return maxima;
}

/** Entropy of softmax(0.125 q.k) over the first `visible` keys. */
function attentionEntropy(query: Float32Array, keys: Float32Array, visible: number): number {
  const logits = Array.from({ length: visible }, (_, token) => {
    let dot = 0;
    for (let c = 0; c < 64; c++) dot += (query[c] ?? 0) * (keys[token * 64 + c] ?? 0);
    return dot * 0.125;
  });
  const largest = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp(logit - largest));
  const total = weights.reduce((sum, w) => sum + w, 0);
  return (
    Math.log(total) -
    weights.reduce((sum, w, i) => sum + w * ((logits[i] ?? 0) - largest), 0) / total
  );
}
