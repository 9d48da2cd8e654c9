// The backend passes the contract suite of core on dawn with SwiftShader, or on the GPU of this machine with LOWBIT_KV_GPU=1. On
// SwiftShader, whose compiler takes minutes for the shaders of all plans, a seventh of them a day; all with LOWBIT_KV_WHOLE_CONTRACT=1.
import { describeBackend, F32_ATTENTION } from '@lowbit-kv/core/contract';
import { afterAll, vi } from 'vitest';
import { shareOfToday } from '../../core/test/support/share-of-today.js';
import { webgpuBackend } from '../src/index.js';
import { openNodeGpu } from '../src/node.js';
import { swiftShaderDevice } from './support/swiftshader.js';

// SwiftShader compiles every pipeline and runs every invocation on the processor.
vi.setConfig({ testTimeout: 120_000 });

const isGpu = process.env.LOWBIT_KV_GPU === '1';

const { device, backend } = isGpu ? await openNodeGpu() : await emulated();
afterAll(() => device.destroy());

const share = shareOfToday('plans of the contract', 7);
describeBackend(backend, { tolerances: F32_ATTENTION, mayRefuse: [], share });

async function emulated() {
  const device = await swiftShaderDevice();
  return { device, backend: webgpuBackend({ device }) };
}
