// The backend passes the contract suite of core on dawn with SwiftShader.
import { describeBackend } from '@lowbit-kv/core/contract';
import { webgpuBackend } from '../src/index.js';
import { swiftShaderDevice } from './support/swiftshader.js';
import { F32_ATTENTION } from './support/tolerances.js';

const device = await swiftShaderDevice();

describeBackend(webgpuBackend({ device }), { tolerances: F32_ATTENTION });
