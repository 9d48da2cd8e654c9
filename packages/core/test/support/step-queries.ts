/**
 * Attention inside the step that appends pointer ids: one zero query per new token against the mean it must see.
 */
import { expect } from 'vitest';
import type { Cache, Sequence } from '../../src/index.js';
import { expectedMean, inPointerUnits, maxAbsDifference } from '../../src/testing/index.js';
import { layerGeometry, pointAt, pointerInput, TOLERANCE } from './pointer-cache.js';

/** Appends ids in one step; the query of position p must see exactly the ids `visible(p)` (ids equal positions). */
export async function attendIds(
  cache: Cache,
  sequence: Sequence,
  ids: readonly number[],
  visible: (position: number) => readonly number[],
): Promise<void> {
  const { queryHeads, kvHeads, valueHeadDim } = layerGeometry(cache, 0);
  const first = sequence.length;
  const step = cache.step([{ sequence, tokens: ids.length }]);
  const { key, value } = pointerInput(cache, [{ ids }]);
  step.append(0, key, value);
  const targets = Array.from({ length: ids.length * queryHeads }, () => null);
  const { output } = await step.attend(0, pointAt(cache, targets)).read();
  await step.commit();
  const actual = inPointerUnits(output.data);
  const width = queryHeads * valueHeadDim;
  for (const i of ids.keys()) {
    const expected = Array.from({ length: queryHeads }, (_, head) => [
      ...expectedMean(visible(first + i), {
        kvHead: Math.floor(head / (queryHeads / kvHeads)),
        headDim: valueHeadDim,
      }),
    ]).flat();
    expect(
      maxAbsDifference(actual.subarray(i * width, (i + 1) * width), expected),
      `query at ${first + i}`,
    ).toBeLessThanOrEqual(TOLERANCE);
  }
}
