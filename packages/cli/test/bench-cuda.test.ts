// CUDA under a benchmark, on the fake driver: events and graphs, memory that is given back, what the tool for cards says.
import { benchCases, runBench } from '@lowbit-kv/harness';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { APPEND_INSTANCES } from '../../backend-cuda/src/instances.js';
import { fakeBackend } from '../../backend-cuda/test/support/fake-backend.js';
import {
  buildHostKernels,
  type HostKernels,
} from '../../backend-cuda/test/support/host/host-kernels.js';
import { compiler } from '../../backend-cuda/test/support/pack/host-program.js';
import { cudaDevice } from '../src/bench/cuda-device.js';
import { parseCardState } from '../src/bench/nvidia-smi.js';

/** Of 4 bit g128 at head dim 128. */
const APPENDING = 'append_k4t128z_d128_v4c128z_d128';

describe.skipIf(compiler === undefined)('on the fake driver', () => {
  let host: HostKernels;
  beforeAll(() => {
    host = buildHostKernels(APPEND_INSTANCES.filter(({ name }) => name === APPENDING));
  }, 120_000);
  afterAll(() => host.remove());

  it('times packing, appends and attention, and leaves nothing on the card', {
    timeout: 120_000,
  }, async () => {
    const { fake, backend, launches } = fakeBackend(host.kernels, () => ({}), {
      name: 'fake card',
      memoryBytes: 2 ** 28,
    });
    const device = await cudaDevice(backend);
    expect(device).toMatchObject({ clock: 'gpu', lastLevelCacheBytes: 62_914_560 });
    const report = await runBench({
      schemes: [kivi({ bits: 4, groupSize: 128 })],
      devices: [
        {
          ...device,
          lastLevelCacheBytes: 40_000,
          stepLayers: 2,
          copy: (_, n) => device.copy(1e6, n),
        },
      ],
      cases: benchCases({
        operations: ['pack', 'append', 'attend'],
        ...{ batches: [2], contexts: [300], tokens: [1], headDims: [128] },
        heads: [{ queryHeads: 4, kvHeads: 2 }],
      }),
      ...{ samples: 2, warmUpMilliseconds: 0, tool: { version: '0', commit: null } },
    });
    expect(report.backends[0]?.device).toContain('fake card');
    const own = report.rows.filter(({ scheme }) => scheme !== 'f16');
    for (const row of own) {
      if (row.status !== 'measured') throw new Error(row.reason);
      expect(row.microseconds.samples).toBe(2);
      expect(row.microseconds.median).toBeGreaterThan(0);
    }
    expect(own.map(({ operation }) => operation)).toEqual(['pack', 'append', 'attend']);
    expect(launches.size).toBeGreaterThan(0);
    expect(fake.count('cuGraphLaunch')).toBeGreaterThanOrEqual(3);
    device.dispose();
    backend.dispose();
    expect(fake.leaks()).toEqual([]);
  });
});

describe('what nvidia-smi says', () => {
  it('is driver and clocks of one card', () => {
    expect(parseCardState('580.159.04, 345 MHz, 3201 MHz\n')).toEqual({
      driver: 'driver 580.159.04',
      clocks: '345 MHz, memory 3201 MHz',
    });
  });

  it('is nothing for two cards, none, or words', () => {
    expect(parseCardState('1, 2 MHz, 3 MHz\n1, 2 MHz, 3 MHz\n')).toBeNull();
    expect(parseCardState('')).toBeNull();
    expect(parseCardState('No devices were found\n')).toBeNull();
  });
});
