// Pages that sequences share from different places on, and queries up to the last token.
import { expect, test } from 'vitest';
import {
  createCache,
  createPlan,
  f16Tensor,
  f32Tensor,
  referenceBackend,
} from '../../src/index.js';
import { asymmetric, inlineScheme, lcgNormal } from '../../src/testing/index.js';

const HEADS = 2;
const DIM = 32;
const window = { recent: 32, flush: 16 };

async function open() {
  const tensor = asymmetric(4, 'channels', 32, window);
  const plan = createPlan(inlineScheme({ key: tensor, value: tensor }), {
    ...{ layers: 1, queryHeads: HEADS, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM },
  });
  return createCache(plan, referenceBackend(), { capacity: { tokens: 512, sequences: 4 } });
}

function tokens(count: number, seed: number) {
  const shape = [count, HEADS, DIM];
  const data = lcgNormal({ seed, shape, dtype: 'f16' }) as Uint16Array;
  return [{ key: f16Tensor(data, shape), value: f16Tensor(data, shape) }];
}

test('a snapshot keeps what each sequence sees of a page, where one packed the beginning of it', async () => {
  const cache = await open();
  const parent = cache.createSequence();
  // One token before the first packing: the tail begins at slot 0 of its first page.
  await cache.append([{ sequence: parent, tokens: 47 }], tokens(47, 1));
  const child = cache.fork(parent);
  await cache.append([{ sequence: parent, tokens: 1 }], tokens(1, 2));
  const [parentCounts, childCounts] = (await cache.stats()).sequences.map(
    ({ classes }) => classes[0],
  );
  expect([parentCounts?.packed, childCounts?.packed]).toEqual([16, 0]);
  for (const order of [
    [parent, child],
    [child, parent],
  ]) {
    const fresh = await open();
    const restored = await fresh.restore(await cache.snapshot(order));
    for (const [i, sequence] of order.entries()) {
      const [before, after] = [
        await cache.materialize(sequence, 0),
        await fresh.materialize(restored[i]!, 0),
      ];
      expect(after.key.data).toEqual(before.key.data);
      expect(after.value.data).toEqual(before.value.data);
    }
  }
});

test('a block counts as long as its longest holder', async () => {
  const cache = await open();
  const parent = cache.createSequence();
  await cache.append([{ sequence: parent, tokens: 200 }], tokens(200, 3));
  const before = (await cache.stats()).bytes;
  const child = cache.fork(parent);
  cache.truncate(child, 5);
  const after = (await cache.stats()).bytes;
  expect(after.codes).toBe(before.codes);
  expect(after.parameters).toBe(before.parameters);
  cache.disposeSequence(parent);
  expect((await cache.stats()).bytes.codes).toBeLessThan(before.codes);
});

test('queries may be all tokens of a sequence, and none more', async () => {
  const cache = await open();
  const sequence = cache.createSequence();
  await cache.append([{ sequence, tokens: 3 }], tokens(3, 4));
  const query = (count: number) =>
    f32Tensor(new Float32Array(count * HEADS * DIM), [count, HEADS, DIM]);
  const result = await cache.attend(0, query(3), [sequence], { queries: [3] }).read();
  expect(result.output.shape).toEqual([3, HEADS, DIM]);
  expect(() => cache.attend(0, query(4), [sequence], { queries: [4] })).toThrow(
    /OPTION_INVALID.*more queries than tokens/s,
  );
});
