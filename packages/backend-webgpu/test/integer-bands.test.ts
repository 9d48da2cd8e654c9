// Attention over outlier bands in integers: outliers by lines where they have room, by bytes where they have none.
import { f16Tensor, type Plan } from '@lowbit-kv/core';
import { createTwin, type Twin } from '@lowbit-kv/core/contract';
import { asymmetric, bands } from '@lowbit-kv/core/testing';
import { describe, expect, it, vi } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { codeOrder } from '../src/shaders/code-order.js';
import { BAND_WINDOW, BANDS, bandPlan } from './support/band-plans.js';
import { failureOf } from './support/faulty-device.js';
import { swiftShaderDevice } from './support/swiftshader.js';
import { INTEGER_ATTENTION } from './support/tolerances.js';

vi.setConfig({ testTimeout: 240_000 });

async function onTwin(
  device: GPUDevice,
  plan: Plan,
  run: (twin: Twin) => Promise<void>,
): Promise<void> {
  expect(plan.layers.map(codeOrder)).toEqual(['reduction']);
  const backend = webgpuBackend({
    device,
    wgslLanguageFeatures: new Set(['packed_4x8_integer_dot_product']),
  });
  const twin = await createTwin(plan, backend, { tolerances: INTEGER_ATTENTION });
  try {
    await run(twin);
  } finally {
    twin.dispose();
    backend.dispose();
  }
}

/** Whole pages and parts of one; pages that another sequence filled further. */
async function main(twin: Twin): Promise<void> {
  const [long, short] = [twin.createPair(), twin.createPair()];
  await twin.grow(long, 290);
  await twin.grow(short, 140);
  twin.truncate(short, 3);
  await twin.step([
    { pair: long, tokens: 3 },
    { pair: short, tokens: 5 },
  ]);
  expect(await twin.compareBlocks(long)).toBeGreaterThan(0);
  await twin.compareBlocks(short);
}

/** A cut inside a page and what follows; pages that came from a snapshot. */
async function cuts(twin: Twin): Promise<void> {
  const pair = twin.createPair();
  await twin.grow(pair, 200);
  twin.truncate(pair, 135);
  await twin.attend([pair], [2]);
  await twin.step([{ pair, tokens: 1 }]);
  await twin.compareBlocks(pair);
  const restored = await twin.crossed(pair);
  await twin.attend([restored, pair], [1, 1]);
  await twin.step([{ pair: restored, tokens: 2 }]);
  expect(await twin.compareBlocks(restored)).toBeGreaterThan(0);
}

/** The least that every fault shows in. */
async function short(twin: Twin): Promise<void> {
  const pair = twin.createPair();
  await twin.grow(pair, 140);
  await twin.step([{ pair, tokens: 1 }]);
  await twin.compareBlocks(pair);
}

async function onSwiftShader(plan: Plan, run: (twin: Twin) => Promise<void>): Promise<void> {
  const device = await swiftShaderDevice();
  try {
    await onTwin(device, plan, run);
  } finally {
    device.destroy();
  }
}

it('outliers without room for lines', async () => {
  await onSwiftShader(bandPlan('crowded'), main);
});

it('no outliers', async () => {
  await onSwiftShader(bandPlan('none'), main);
});

it.each(['usual', 'crowded'] as const)('cuts and snapshots, %s', async (edges) => {
  await onSwiftShader(bandPlan(edges), cuts);
});

it('heads that share parameters', async () => {
  const key = bands('midRise', 'allHeads', 24);
  await onSwiftShader(bandPlan('usual', { ...BANDS, key, value: key }), main);
  await onSwiftShader(bandPlan('crowded', { ...BANDS, key, value: key }), cuts);
});

it('keys alone', async () => {
  const value = asymmetric(4, 'channels', 64, BAND_WINDOW);
  await onSwiftShader(bandPlan('usual', { ...BANDS, value }), main);
});

it('values alone', async () => {
  await onSwiftShader(bandPlan('usual', { ...BANDS, key: asymmetric(4, 'tokens', 32) }), main);
});

it('as many outliers as a page may have', async () => {
  await onSwiftShader(bandPlan('usual'), async (twin) => {
    const pair = twin.createPair();
    // 48 of the 128 channels of every token.
    const data = Uint16Array.from({ length: 150 * 2 * 128 }, (_, i) => {
      const channel = i % 128;
      const sign = (i * 7) % 3 === 0 ? 0x8000 : 0;
      return channel % 8 < 3 ? (sign | 0x4200) + ((i * 37) % 512) : sign | (0x3800 + (i % 256));
    });
    const tokens = f16Tensor(data, [150, 2, 128]);
    await twin.append(pair, tokens, tokens);
    await twin.step([{ pair, tokens: 1 }]);
    expect(await twin.compareBlocks(pair)).toBeGreaterThan(0);
  });
});

describe('fails', () => {
  it.each([
    ['without corrections', 'usual', 'attend', '(outlierTerm(bits, places) + shift)', '0.0'],
    ['without corrections of bytes', 'crowded', 'attend', 'term * weight', '0.0 * weight'],
    ['with swapped sides', 'none', 'attend', 'edges.z - edges.y', 'edges.y - edges.z'],
    ['with lines that lose sides', 'usual', 'packOutliers', '(side << 15u)', '(side << 16u)'],
  ] as const)('%s', async (_name, edges, kernel, from, to) => {
    const plan = bandPlan(edges);
    const run = (device: GPUDevice) => onTwin(device, plan, short);
    expect(await failureOf({ kernel, from, to }, run)).toMatch(/nmse|log-sum-exp|byte for byte/);
  });
});
