// What a step says of a head with more outliers than there is room for, as general kernels leave it.
import { createCache, createPlan, f16Tensor, outlierCapacityError } from '@lowbit-kv/core';
import { bands, inlineCalibration, inlineScheme } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { GENERAL_JOB } from '../src/general/structs.js';
import type { FakeKernel } from './support/fake/kernels.js';
import { fakeBackend } from './support/fake-backend.js';
import { errorOf } from './support/open-fake.js';
import { STUBS } from './support/stub-kernels.js';

const HEADS = 3;
const DIM = 64;
const TOKENS = 32;

it('names the tensor, the layer of the model and the head', async () => {
  const scheme = inlineScheme({
    key: bands('midRise', 'head', 24),
    value: bands('uniform', 'head', 8),
  });
  const shape = {
    layers: 2,
    queryHeads: HEADS,
    kvHeads: HEADS,
    keyHeadDim: DIM,
    valueHeadDim: DIM,
  };
  const calibration = inlineCalibration(scheme, shape)!;
  const plan = createPlan(scheme, shape, { calibration, blockTokens: 32 });
  let runs = 0;
  // Keys and values of the first layer fit, and keys of the second: of its values head 1 does not.
  const outliers: FakeKernel = {
    ...STUBS.find(({ name }) => name === 'general_outliers')!,
    run({ parameters, memory }) {
      const job = parameters.bytes(0);
      const address = new DataView(job.buffer, job.byteOffset).getBigUint64(
        GENERAL_JOB.fields.fault,
        true,
      );
      if (++runs === 4) memory.at(Uint32Array, address, 1)[0] = 1;
    },
  };
  const { backend, fake } = fakeBackend([outliers, ...STUBS]);
  const cache = await createCache(plan, backend, { capacity: { sequences: 1, tokens: 64 } });
  const sequence = cache.createSequence();
  const rows = f16Tensor(new Uint16Array(TOKENS * HEADS * DIM), [TOKENS, HEADS, DIM]);
  const layers = [
    { key: rows, value: rows },
    { key: rows, value: rows },
  ];
  const append = () => cache.append([{ sequence, tokens: TOKENS }], layers);
  const error = await errorOf(append);
  const { message, where } = outlierCapacityError(plan.layers[1]!.value, 1, 1);
  expect(error.message).toBe(message);
  expect(error.where).toEqual({ ...where, tensor: 'value', layer: 1, head: 1 });
  expect(sequence.length).toBe(0);
  // The word is cleared before it is used again.
  await append();
  expect(sequence.length).toBe(TOKENS);
  cache.dispose();
  backend.dispose();
  expect(fake.leaks()).toEqual([]);
});
