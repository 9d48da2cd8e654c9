// The backend passes the contract suite of core on dawn with SwiftShader.
import { describeBackend } from '@lowbit-kv/core/contract';
import { webgpuBackend } from '../src/index.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const device = await swiftShaderDevice();

describeBackend(webgpuBackend({ device }));
