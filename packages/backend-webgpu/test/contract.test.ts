// The backend passes the contract suite of core on dawn with SwiftShader, or on the GPU of this machine with LOWBIT_KV_GPU=1.
import { describeBackend, F32_ATTENTION } from '@lowbit-kv/core/contract';
import { afterAll, vi } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { openNodeGpu } from '../src/node.js';
import { swiftShaderDevice } from './support/swiftshader.js';

// SwiftShader compiles every pipeline and runs every invocation on the processor.
vi.setConfig({ testTimeout: 120_000 });

const { device, backend } =
  process.env.LOWBIT_KV_GPU === '1' ? await openNodeGpu() : await emulated();
afterAll(() => device.destroy());

describeBackend(backend, { tolerances: F32_ATTENTION, mayRefuse: [] });

async function emulated() {
  const device = await swiftShaderDevice();
  return { device, backend: webgpuBackend({ device }) };
}
