// The contract suite of core, over kernels that the host runs, or on the card of this machine with LOWBIT_KV_GPU=1 (its
// codecs by nvcc where there is no NVRTC).
import {
  type BackendContractOptions,
  describeBackend,
  F32_ATTENTION,
} from '@lowbit-kv/core/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { cudaBackend } from '../src/index.js';
import { findNvrtc } from '../src/nvrtc/library.js';
import { fakeBackend } from './support/fake-backend.js';
import { buildGeneralAttention, buildGeneralKernels } from './support/host/general-kernels.js';
import { buildHostKernels } from './support/host/host-kernels.js';
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
  const libraries = [
    // No plan of the suite takes a packing kernel of its own.
    buildHostKernels([]),
    buildGeneralKernels(undefined, ['-O2']),
    buildGeneralAttention(),
  ];
  const { fake, backend } = fakeBackend(libraries.flatMap(({ kernels }) => [...kernels]));
  afterAll(() => {
    backend.dispose();
    for (const library of libraries) library.remove();
    expect(fake.leaks()).toEqual([]);
  });
  describeBackend(backend, CONTRACT);
}
