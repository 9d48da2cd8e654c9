// Random programs on this backend, on dawn with SwiftShader, and on the model of core, also with faults.
import { describePrograms } from '@lowbit-kv/core/programs';
import { afterAll, vi } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { swiftShaderDevice } from './support/swiftshader.js';

vi.setConfig({ testTimeout: 120_000 });

const device = await swiftShaderDevice();
afterAll(() => device.destroy());

describePrograms(webgpuBackend({ device }), { seconds: 4, minimum: 4 });
