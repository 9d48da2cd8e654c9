// Random programs over kernels that the host runs, and on the model of core, also with faults.
import { describePrograms } from '@lowbit-kv/core/programs';
import { afterAll, describe, expect, it } from 'vitest';
import { hostBackend } from './support/host-backend.js';
import { compiler } from './support/pack/host-program.js';

if (compiler === undefined) {
  describe.skip('random programs on backend cuda (needs a C++ compiler)', () => it.todo('runs'));
} else {
  const { backend, close } = hostBackend();
  afterAll(() => expect(close()).toEqual([]));
  describePrograms(backend, { seconds: 3, minimum: 8 });
}
