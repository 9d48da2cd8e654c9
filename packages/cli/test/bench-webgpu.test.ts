// WebGPU under a benchmark, on SwiftShader: with timestamps and without, and what the device reports meanwhile.
import { webgpuBackend } from '@lowbit-kv/backend-webgpu';
import { type BenchDevice, benchCases, runBench } from '@lowbit-kv/harness';
import { kivi4 } from '@lowbit-kv/scheme-kivi';
import { expect, it } from 'vitest';
import { swiftShaderDevice } from '../../backend-webgpu/test/support/swiftshader.js';
import { webgpuDevice } from '../src/bench/webgpu-device.js';

const CASES = benchCases({
  operations: ['pack', 'append', 'attend'],
  ...{ batches: [2], contexts: [150], tokens: [2], headDims: [64] },
  heads: [{ queryHeads: 4, kvHeads: 2 }],
});
const SETTINGS = { samples: 2, warmUpMilliseconds: 0, tool: { version: '0', commit: null } };

async function withDevice<Result>(
  requiredFeatures: GPUFeatureName[],
  work: (device: BenchDevice, gpu: GPUDevice) => Promise<Result>,
): Promise<Result> {
  const gpu = await swiftShaderDevice({ requiredFeatures });
  const backend = webgpuBackend({ device: gpu });
  try {
    const device = webgpuDevice(backend);
    // Few layers and a small copy: SwiftShader is slow.
    return await work(
      {
        ...device,
        lastLevelCacheBytes: 30_000,
        stepLayers: 2,
        copy: (_, n) => device.copy(1e6, n),
      },
      gpu,
    );
  } finally {
    backend.dispose();
    gpu.destroy();
  }
}

it.each([
  ['gpu', ['timestamp-query']],
  ['host', []],
] as const)('times by the %s', { timeout: 120_000 }, async (clock, features) => {
  const report = await withDevice([...features], (device) =>
    runBench({ ...SETTINGS, schemes: [kivi4], devices: [device], cases: CASES }),
  );
  const [backend] = report.backends;
  expect(backend).toMatchObject({ id: 'webgpu', clock, copy: { bytes: 1e6 } });
  expect(backend?.device).toContain('SwiftShader');
  expect(backend?.copy.bytesPerSecond).toBeGreaterThan(0);
  expect(report.rows).toHaveLength(6);
  for (const row of report.rows) {
    if (row.status !== 'measured') throw new Error(row.reason);
    expect(row.microseconds.samples).toBe(2);
    expect(row.microseconds.minimum).toBeGreaterThan(0);
  }
});

it('figures of a device that reported an error are none', async () => {
  await withDevice(['timestamp-query'], async (device, gpu) => {
    const broken = () => {
      // More than the device has: an error that reaches nobody else.
      gpu.createBuffer({ size: 16, usage: 0x1 | 0x2 });
    };
    await expect(device.once(broken, async () => undefined)).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
    });
    const fine = await device.once(
      () => undefined,
      async () => undefined,
    );
    expect(fine).toBeGreaterThanOrEqual(0);
  });
});

it('inputs that do not fit into a buffer are refused by their size', async () => {
  await withDevice([], async (device, { limits }) => {
    const most = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
    expect(() => device.allocate(most / 4 + 1)).toThrow(/do not fit into a buffer/);
  });
});

it('stops before it submits more', async () => {
  const signal = AbortSignal.abort(new Error('enough'));
  await withDevice(['timestamp-query'], async (device) => {
    const options = { layers: 1, samples: 1, warmUpMilliseconds: 0, signal };
    const attend = () => {
      throw new Error('attended');
    };
    await expect(device.repeat(attend, options)).rejects.toThrow('enough');
  });
});
