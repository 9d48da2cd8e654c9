// Case cache-reset-no-leak: a shorter sequence in reused pages does not see the old one.
import { expect, it } from 'vitest';
import { decodeF16 } from '../../src/index.js';
import {
  inPointerUnits,
  maxAbsDifference,
  pointerKeys,
  pointerValues,
  pointingQuery,
  referenceAttention,
  tokenIdRange,
} from '../../src/testing/index.js';
import { exactSchemes, someExactSchemes } from '../support/exact-schemes.js';
import {
  appendIds,
  ask,
  expectContents,
  expectMean32,
  openCache,
} from '../support/pointer-cache.js';
import { loadCase } from '../testing/load-case.js';

interface Input {
  ops: { append?: number; firstId?: number; reset?: boolean }[];
}
const { input, expected } = loadCase<Input, { zeroQueryMean32: number[]; length: number }>(
  'cache-reset-no-leak',
);

const rows = [...exactSchemes({ residual: 0 }), ...someExactSchemes([4, 128])].flatMap((named) =>
  [1, 300].map((chunk) => ({ ...named, chunk })),
);

it.each(rows)('steps of $chunk: $name', async ({ scheme, chunk }) => {
  // Just enough room for the first sequence, so that the second one gets its pages.
  const cache = await openCache(scheme, {}, { capacity: { tokens: 300 } });
  const sequence = cache.createSequence();
  for (const { append, firstId, reset } of input.ops) {
    if (reset === true) cache.reset(sequence);
    else
      await appendIds(cache, sequence, tokenIdRange(firstId as number, append as number), {
        chunk,
      });
  }
  const ids = tokenIdRange(9000, 10);
  expect(sequence.length).toBe(expected.length);
  await expectContents(cache, sequence, ids);
  await expectMean32(cache, sequence, expected.zeroQueryMean32);

  const { output } = await ask(cache, sequence, 150);
  const oracle = referenceAttention({
    keys: decodeF16(pointerKeys({ tokenIds: ids, kvHeads: 1, headDim: 64 })),
    values: decodeF16(pointerValues({ tokenIds: ids, kvHeads: 1, headDim: 64 })),
    queries: decodeF16(pointingQuery([150, 150], 64)),
    tokens: 10,
    queryTokens: 1,
    queryHeads: 2,
    kvHeads: 1,
    keyDim: 64,
    valueDim: 64,
    scale: 1 / 8,
  });
  expect(maxAbsDifference(output, inPointerUnits(oracle.output))).toBeLessThanOrEqual(1e-3);

  const fresh = await openCache(scheme, {}, { capacity: { tokens: 300 } });
  const other = fresh.createSequence();
  await appendIds(fresh, other, ids, { chunk });
  const [used, unused] = [await cache.stats(), await fresh.stats()];
  expect(used.sequences).toEqual(unused.sequences);
  expect(used.bytes).toEqual(unused.bytes);
  expect(firstUnequal(await cache.snapshot([sequence]), await fresh.snapshot([other]))).toBe(-1);
});

function firstUnequal(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) return Math.min(a.length, b.length);
  return a.findIndex((byte, i) => byte !== b[i]);
}
