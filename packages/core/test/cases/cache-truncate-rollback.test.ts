// Case cache-truncate-rollback: cuts in the tail, on a group edge, inside a packed group and to zero, then new tokens.
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
  expectPattern,
  openCache,
} from '../support/pointer-cache.js';
import { loadCase } from '../testing/load-case.js';

type Operation =
  | { op: 'append'; count: number; firstId: number }
  | { op: 'truncate'; length: number };
interface After {
  length: number;
  firstIds: number[];
  lastIds: number[];
  zeroQueryMean32: number[];
}
const { input, expected } = loadCase<
  { ops: Operation[]; settings: { G: number; residual: number }[] },
  { afterOps: After[] }
>('cache-truncate-rollback');

const rows = [
  ...input.settings.flatMap(({ G, residual }) => exactSchemes({ size: G, residual })),
  ...someExactSchemes([0]),
].flatMap((named) => [1, 200].map((chunk) => ({ ...named, chunk })));

it.each(rows)('steps of $chunk: $name', async ({ scheme, chunk }) => {
  const cache = await openCache(scheme);
  const sequence = cache.createSequence();
  let ids: number[] = [];
  for (const [i, operation] of input.ops.entries()) {
    let removed: number | undefined;
    if (operation.op === 'append') {
      const added = tokenIdRange(operation.firstId, operation.count);
      await appendIds(cache, sequence, added, { chunk });
      ids = [...ids, ...added];
    } else {
      removed = ids.at(-1);
      cache.truncate(sequence, operation.length);
      ids = ids.slice(0, operation.length);
    }
    const after = expected.afterOps[i] as After;
    expect([ids.length, ids.slice(0, 3), ids.slice(-3)]).toEqual([
      after.length,
      after.firstIds,
      after.lastIds,
    ]);
    await expectContents(cache, sequence, ids);
    await expectMean32(cache, sequence, after.zeroQueryMean32);
    if (ids.length > 0) await expectPattern(cache, sequence, ids.at(-1) as number);
    if (removed !== undefined) await expectBestMatch(removed);
  }
  cache.disposeSequence(sequence);
  expect((await cache.stats()).bytes.live).toBe(0);

  async function expectBestMatch(target: number): Promise<void> {
    const { output } = await ask(cache, sequence, target);
    const oracle = referenceAttention({
      keys: decodeF16(pointerKeys({ tokenIds: ids, kvHeads: 1, headDim: 64 })),
      values: decodeF16(pointerValues({ tokenIds: ids, kvHeads: 1, headDim: 64 })),
      queries: decodeF16(pointingQuery([target, target], 64)),
      tokens: ids.length,
      queryTokens: 1,
      queryHeads: 2,
      kvHeads: 1,
      keyDim: 64,
      valueDim: 64,
      scale: 1 / 8,
    });
    expect(maxAbsDifference(output, inPointerUnits(oracle.output))).toBeLessThanOrEqual(1e-3);
  }
});
