// The contract suite of core, over kernels that the host runs, or on the card of this machine with LOWBIT_KV_GPU=1 (its
// codecs by nvcc where there is no NVRTC).
import {
  type BackendContractOptions,
  describeBackend,
  F32_ATTENTION,
} from '@lowbit-kv/core/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { shareOfToday } from '../../core/test/support/share-of-today.js';
import { cudaBackend } from '../src/index.js';
import { findNvrtc } from '../src/nvrtc/library.js';
import { hostBackend } from './support/host-backend.js';
import { nvcc } from './support/nvrtc/nvcc.js';
import { compiler } from './support/pack/host-program.js';

const CONTRACT: BackendContractOptions = {
  tolerances: F32_ATTENTION,
  mayRefuse: [],
};

if (process.env.LOWBIT_KV_GPU === '1') {
  const { found } = findNvrtc();
  const backend = cudaBackend({ nvrtc: found.length > 0 || nvcc === undefined ? found : [nvcc] });
  afterAll(() => backend.dispose());
  describeBackend(backend, CONTRACT);
} else if (compiler === undefined) {
  describe.skip('contract of backend cuda (needs a C++ compiler)', () => it.todo('runs'));
} else {
  const { backend, close } = hostBackend();
  afterAll(() => expect(close()).toEqual([]));
  const share = shareOfToday('plans of the contract', 6);
  describeBackend(backend, { ...CONTRACT, share });
}
