// The backend passes the contract suite of core on dawn with SwiftShader.
import { describeBackend } from '@lowbit-kv/core/contract';
import { afterAll, vi } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { swiftShaderDevice } from './support/swiftshader.js';
import { F32_ATTENTION } from './support/tolerances.js';

// SwiftShader compiles every pipeline and runs every invocation on the processor.
vi.setConfig({ testTimeout: 120_000 });

const device = await swiftShaderDevice();
afterAll(() => device.destroy());

describeBackend(webgpuBackend({ device }), { tolerances: F32_ATTENTION });
