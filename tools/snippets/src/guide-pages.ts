/**
 * Pages of docs whose blocks, put together, are one program that prints what they say; and in place of which modules.
 */
import * as cuda from '@lowbit-kv/backend-cuda';
import * as webgpu from '@lowbit-kv/backend-webgpu';
import * as core from '@lowbit-kv/core';
import * as kivi from '@lowbit-kv/scheme-kivi';
import { fakeBackend } from '../../../packages/backend-cuda/test/support/fake-backend.js';
import { STUBS } from '../../../packages/backend-cuda/test/support/stub-kernels.js';
import { swiftShaderGpu } from '../../../packages/backend-webgpu/test/support/swiftshader.js';

export interface GuidePage {
  readonly file: string;
  readonly modules: Readonly<Record<string, object>>;
  /** Makes what the program finds in its surroundings. */
  readonly prepare?: () => Promise<Readonly<Record<string, unknown>>>;
}

const COMMON = { '@lowbit-kv/core': core, '@lowbit-kv/scheme-kivi': kivi };

export const GUIDE_PAGES: readonly GuidePage[] = [
  { file: 'docs/use-in-node.md', modules: COMMON },
  {
    file: 'docs/use-in-browser.md',
    modules: { ...COMMON, '@lowbit-kv/backend-webgpu': webgpu },
    prepare: async () => ({ navigator: { gpu: await swiftShaderGpu() } }),
  },
  {
    file: 'docs/use-on-cuda.md',
    modules: {
      ...COMMON,
      '@lowbit-kv/backend-cuda': { ...cuda, cudaBackend: () => fakeBackend(STUBS).backend },
    },
  },
];
