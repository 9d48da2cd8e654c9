// The backend through the public API on the fake driver, against the reference: every byte and every output.
import {
  createPlan,
  type Geometry,
  type LayerPlan,
  type Plan,
  type QuantizedTensorScheme,
} from '@lowbit-kv/core';
import { createTwin, type Pair, type Twin } from '@lowbit-kv/core/contract';
import {
  asymmetric,
  bands,
  hybrid,
  inlineCalibration,
  inlineScheme,
  symmetric,
} from '@lowbit-kv/core/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PACK_INSTANCES } from '../src/instances.js';
import { packTile } from '../src/pages/pack-tile.js';
import { kernelsOf } from '../src/support.js';
import { type FakeBackend, fakeBackend } from './support/fake-backend.js';
import type { CompiledKernels } from './support/host/compile-kernels.js';
import { buildGeneralKernels } from './support/host/general-kernels.js';
import { buildHostKernels, type HostKernels } from './support/host/host-kernels.js';
import { compiler } from './support/pack/host-program.js';
import { FACTORS } from './support/pack/instances.js';

const GEOMETRY: Geometry = {
  layers: 2,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 128,
  valueHeadDim: 128,
};

function planOf(
  bits: 2 | 4,
  groupSize: 32 | 64 | 128,
  change: Partial<Geometry> = {},
  window?: { readonly recent: number; readonly flush: number },
  valueFlush = window?.flush ?? 1,
): Plan {
  const scheme = inlineScheme({
    key: asymmetric(bits, 'tokens', groupSize, window ?? { recent: 0, flush: 128 }),
    value: asymmetric(bits, 'channels', groupSize, {
      recent: window?.recent ?? 40,
      flush: valueFlush,
    }),
    packing: 'after-attention',
  });
  return createPlan(scheme, { ...GEOMETRY, ...change }, { blockTokens: 128 });
}

/** Keys around zero with factors of the sequence, values by channel. */
function plainOf(value: QuantizedTensorScheme, change: Partial<Geometry> = {}): Plan {
  const key = {
    ...symmetric(3, 'full', 'channels', 32, { recent: 40, flush: 32 }),
    transforms: [FACTORS],
  };
  const scheme = inlineScheme({ sinks: 5, key, value, packing: 'before-attention' });
  return createPlan(scheme, { ...GEOMETRY, ...change }, { blockTokens: 128 });
}

/** One tensor has packed tokens that the other has not. */
function bandsOf(headDim: number, reserve = 40): Plan {
  const scheme = inlineScheme({
    key: bands('midRise', 'head', reserve, { recent: 8, flush: 8 }),
    value: bands('midRise', 'head', reserve, { recent: 40, flush: 1 }),
    sinks: 4,
  });
  const geometry = { ...GEOMETRY, queryHeads: 10, keyHeadDim: headDim, valueHeadDim: headDim };
  const calibration = inlineCalibration(scheme, geometry)!;
  return createPlan(scheme, geometry, { blockTokens: 128, calibration });
}

const WINDOW = { recent: 40, flush: 32 };

const PLANS: readonly [string, Plan][] = [
  ['4 bits, groups of 32', planOf(4, 32)],
  ['2 bits, groups of 128', planOf(2, 128)],
  ['blocks of two pages', planOf(2, 128, {}, { recent: 0, flush: 256 })],
  ['keys in blocks of two pages', planOf(2, 128, {}, { recent: 0, flush: 256 }, 1)],
  ['seven query heads of a kv head', planOf(4, 128, { queryHeads: 14 })],
  ['nine query heads of a kv head', planOf(2, 32, { queryHeads: 18 })],
  ['3 bits around zero', plainOf(symmetric(3, 'fullSigned', 'tokens', 32, WINDOW))],
  [
    'hybrid values',
    plainOf(hybrid(2, 'full', 2, 'symmetric', 'tokens', 32, WINDOW), {
      keyHeadDim: 64,
      valueHeadDim: 64,
    }),
  ],
  ['outlier bands, head dim 64', bandsOf(64)],
  ['outlier bands, head dim 128', bandsOf(128)],
  // Of normal values 18 % are outliers: half way through a page they become bytes.
  ['outlier bands, room for few words', bandsOf(128, 15)],
  [
    'soft cap and sliding window',
    planOf(4, 64, { softCap: 3, slidingWindow: { size: 150, sinks: 2 } }),
  ],
];

describe.skipIf(compiler === undefined)('the backend on the fake driver', () => {
  let host: HostKernels;
  // Statistics of sequences are measured by kernels for any plan.
  let general: CompiledKernels;

  beforeAll(() => {
    host = buildHostKernels();
    general = buildGeneralKernels(undefined, ['-O1']);
  }, 240_000);

  afterAll(() => {
    host.remove();
    general.remove();
  });

  async function withTwin(plan: Plan, body: (twin: Twin, fake: FakeBackend) => Promise<void>) {
    const opened = fakeBackend([...host.kernels, ...general.kernels]);
    const twin = await createTwin(plan, opened.backend, { tokens: 1024 });
    await body(twin, opened);
    twin.dispose();
    opened.backend.dispose();
    expect(opened.fake.leaks()).toEqual([]);
  }

  it.each(PLANS)('%s', async (_, plan) => {
    await withTwin(plan, async (twin) => {
      expect(kernelsOf(plan.layers[0] as LayerPlan).speed).not.toBe('general');
      const [a, b] = [twin.createPair(), twin.createPair()] as [Pair, Pair];
      await twin.attend([a, b], [1, 1]);
      await twin.step([
        { pair: a, tokens: 201 },
        { pair: b, tokens: 7 },
      ]);
      await twin.step([
        { pair: a, tokens: 1 },
        { pair: b, tokens: 60 },
      ]);
      const fork = twin.fork(a);
      await twin.step([
        { pair: a, tokens: 60 },
        { pair: fork, tokens: 2 },
      ]);
      await twin.step([{ pair: a, tokens: 1 }]);
      let blocks = 0;
      for (const pair of [a, b, fork]) blocks += await twin.compareBlocks(pair);
      expect(blocks).toBeGreaterThan(0);
      const restored = await twin.crossed(fork);
      await twin.step([{ pair: restored, tokens: 3 }]);
    });
  });

  it('packing kernels take the shared memory and threads that launches give', () => {
    for (const instance of PACK_INSTANCES) {
      const { name } = instance;
      const { sharedBytes, threads } = packTile(instance);
      expect([name, ...host.shapeOf(name)]).toEqual([name, sharedBytes, threads]);
    }
  });
});
