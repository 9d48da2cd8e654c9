/**
 * Registers the contract suite of the backend in a browser page; tests run by number.
 */
import { describeBackend, F32_ATTENTION } from '@lowbit-kv/core/contract';
import { webgpuBackend } from '../../src/index.js';
import { runTest, testNames } from './collected-tests.js';

declare const navigator: { readonly gpu: GPU };

const adapter = await navigator.gpu.requestAdapter();
if (adapter === null) throw new Error('this browser has no WebGPU adapter');
const device = await adapter.requestDevice();
describeBackend(webgpuBackend({ device }), { tolerances: F32_ATTENTION, mayRefuse: [] });
Object.assign(globalThis, { contract: { testNames, runTest } });
