// What a store is shown: the same objects as long as nothing changed, so that stores can keep what they made of them.
import { expect, it } from 'vitest';
import type { AttendJob } from '../../src/backend.js';
import { createCache, createPlan, f32Tensor, referenceBackend } from '../../src/index.js';
import { asymmetric, inlineScheme } from '../../src/testing/index.js';

it('views of a sequence stay the same objects between steps', async () => {
  const tensor = asymmetric(4, 'channels', 8);
  const plan = createPlan(inlineScheme({ key: tensor, value: tensor }), {
    layers: 2,
    queryHeads: 1,
    kvHeads: 1,
    keyHeadDim: 8,
    valueHeadDim: 8,
  });
  const backend = referenceBackend();
  const jobs: AttendJob[] = [];
  const cache = await createCache(
    plan,
    {
      ...backend,
      createStore: async (...args) => {
        const store = await backend.createStore(...args);
        const attend = store.attend.bind(store);
        store.attend = (job) => {
          jobs.push(job);
          return attend(job);
        };
        return store;
      },
    },
    { capacity: { tokens: 64 } },
  );
  const sequence = cache.createSequence();
  const rows = (tokens: number) => f32Tensor(new Float32Array(tokens * 8).fill(1), [tokens, 1, 8]);
  const layer = (tokens: number) => ({ key: rows(tokens), value: rows(tokens) });
  await cache.append([{ sequence, tokens: 5 }], [layer(5), layer(5)]);
  for (const number of [0, 1]) cache.attend(number, rows(1), [sequence]);
  const step = cache.step([{ sequence, tokens: 1 }]);
  for (const number of [0, 1]) {
    step.append(number, rows(1), rows(1));
    step.attend(number, rows(1));
  }
  await step.commit();
  cache.attend(0, rows(1), [sequence]);
  const spans = jobs.map(({ sequences }) => sequences[0]?.key.spans);
  expect(spans[1]).toBe(spans[0]);
  expect(spans[2]).not.toBe(spans[1]);
  expect(spans[3]).toBe(spans[2]);
  expect(spans[4]).not.toBe(spans[1]);
  expect(spans[4]?.at(-1)).toMatchObject({ position: 0, count: 6 });
  cache.dispose();
});
