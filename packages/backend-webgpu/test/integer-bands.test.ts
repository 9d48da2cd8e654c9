// Attention over outlier bands in integers: outliers by lines where they have room, by bytes where they have none.
import { f16Tensor, type Plan } from '@lowbit-kv/core';
import { createTwin, INTEGER_ATTENTION, type Twin } from '@lowbit-kv/core/contract';
import { asymmetric, bands } from '@lowbit-kv/core/testing';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { elementsOf, shareOfToday } from '../../core/test/support/share-of-today.js';
import { webgpuBackend } from '../src/index.js';
import { codeOrder } from '../src/shaders/code-order.js';
import { BAND_WINDOW, BANDS, bandPlan } from './support/band-plans.js';
import { type SwitchedFault, SwitchedFaults } from './support/switched-faults.js';

vi.setConfig({ testTimeout: 240_000 });

const FAULTS = {
  'without corrections': {
    kernel: 'attend',
    from: '(outlierTerm(bits, places) + shift)',
    to: '0.0',
  },
  'without corrections of bytes': { kernel: 'attend', from: 'term * weight', to: '0.0 * weight' },
  'with swapped sides': {
    kernel: 'attend',
    from: 'edges.z - edges.y',
    to: 'edges.y - edges.z',
  },
  'with lines that lose sides': {
    kernel: 'packOutliers',
    from: '(side << 15u)',
    to: '(side << 16u)',
  },
  'with lines that keep what was cut': {
    kernel: 'packOutliers',
    from: 'placeOf(line, position).token < slots',
    to: 'placeOf(line, position).token < 128u',
  },
  'with lines that open to other codes': {
    kernel: 'packOutliers',
    from: 'code & 15u',
    to: 'code & 7u',
  },
} satisfies Record<string, SwitchedFault>;

/** Texts of kernels do not depend on thresholds: they are compiled once. */
const faults = await SwitchedFaults.open(FAULTS);
afterAll(() => faults.device.destroy());

async function onTwin(
  gpu: GPUDevice,
  plan: Plan,
  run: (twin: Twin) => Promise<void>,
): Promise<void> {
  expect(plan.layers.map(codeOrder)).toEqual(['reduction']);
  const backend = webgpuBackend({
    device: gpu,
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

/** Lines of one head run out of room inside a page: it goes on in bytes. */
async function runsOut(twin: Twin): Promise<void> {
  const pair = twin.createPair();
  await twin.grow(pair, 60);
  const data = Uint16Array.from({ length: 50 * 2 * 128 }, (_, i) => {
    const sign = (i * 7) % 3 === 0 ? 0x8000 : 0;
    const isOutlier = i % 256 < 128 && i % 5 < 2;
    return isOutlier ? (sign | 0x4200) + ((i * 37) % 512) : sign | (0x3800 + (i % 256));
  });
  const tokens = f16Tensor(data, [50, 2, 128]);
  await twin.append(pair, tokens, tokens);
  await twin.step([{ pair, tokens: 2 }]);
  expect(await twin.compareBlocks(pair)).toBeGreaterThan(0);
  twin.truncate(pair, 70);
  await twin.step([{ pair, tokens: 3 }]);
  twin.truncate(pair, 40);
  await twin.grow(pair, 110);
  await twin.step([{ pair, tokens: 1 }]);
  expect(await twin.compareBlocks(pair)).toBeGreaterThan(0);
}

/** The least that every fault shows in. */
async function short(twin: Twin): Promise<void> {
  const pair = twin.createPair();
  await twin.grow(pair, 140);
  await twin.step([{ pair, tokens: 1 }]);
  await twin.compareBlocks(pair);
}

async function passes(plan: Plan, run: (twin: Twin) => Promise<void>): Promise<void> {
  expect(await faults.outcome(null, (gpu) => onTwin(gpu, plan, run))).toBe('passed');
}

it.each([
  ['in lines', 'usual'],
  ['without room for lines', 'crowded'],
  ['none', 'none'],
] as const)('outliers: %s', async (_name, edges) => {
  await passes(bandPlan(edges), main);
});

it.each(['usual', 'crowded'] as const)('cuts and snapshots, %s', async (edges) => {
  await passes(bandPlan(edges), cuts);
});

// Each has a kernel that SwiftShader compiles for ten seconds.
const OTHERS: readonly (readonly [string, () => Promise<void>])[] = [
  [
    'heads that share parameters',
    async () => {
      const key = bands('midRise', 'allHeads', 24);
      await passes(bandPlan('usual', { ...BANDS, key, value: key }), main);
      await passes(bandPlan('crowded', { ...BANDS, key, value: key }), cuts);
    },
  ],
  [
    'keys alone',
    () => {
      const value = asymmetric(4, 'channels', 64, BAND_WINDOW);
      return passes(bandPlan('usual', { ...BANDS, value }), main);
    },
  ],
  [
    'values alone',
    () => passes(bandPlan('usual', { ...BANDS, key: asymmetric(4, 'tokens', 32) }), main),
  ],
];
const share = shareOfToday('tensors with outlier bands', OTHERS.length);
it.each(elementsOf(OTHERS, share))('%s', (_name, run) => run());

it('lines that run out of room inside a page', async () => {
  await passes(bandPlan('usual'), runsOut);
});

it('as many outliers as a page may have', async () => {
  await passes(bandPlan('usual'), async (twin) => {
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
    ['without corrections', 'usual'],
    ['without corrections of bytes', 'crowded'],
    ['with swapped sides', 'none'],
    ['with lines that lose sides', 'usual'],
  ] as const)('%s', async (fault, edges) => {
    const outcome = await faults.outcome(fault, (gpu) => onTwin(gpu, bandPlan(edges), short));
    expect(outcome).toMatch(/nmse|log-sum-exp|byte for byte/);
  });

  it.each([
    ['with lines that keep what was cut', cuts],
    ['with lines that open to other codes', runsOut],
  ] as const)('%s', async (fault, run) => {
    const outcome = await faults.outcome(fault, (gpu) => onTwin(gpu, bandPlan('usual'), run));
    expect(outcome).toMatch(/nmse|log-sum-exp|byte for byte/);
  });
});
