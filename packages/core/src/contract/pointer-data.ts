/**
 * Pointer data through a backend: stored to the bit, and attention that returns exactly the token pointed at, of the right
 * head, and the plain mean of what is visible. It needs no numeric reference.
 */
import type { Cache } from '../cache/cache.js';
import type { Sequence } from '../cache/sequence.js';
import { decodeF16 } from '../float16.js';
import { modelLayers } from '../plan/model-layers.js';
import { f16Tensor } from '../tensor.js';
import {
  expectedMean,
  expectedPattern,
  inPointerUnits,
  pointerKeys,
  pointerValues,
  pointingQuery,
  tokenIdRange,
} from '../testing/pointer.js';
import { POINTER_ATTENTION } from '../testing/tolerances.js';
import { ensure, ensureSame, ensureWithin } from './check.js';
import type { Twin } from './twin.js';

const STEPS = [75, 1, 1, 20, 1];

export async function pointerData({ subject: cache }: Twin): Promise<void> {
  // Two sequences, so that pages of one cannot pass for those of the other.
  const [a, b] = [cache.createSequence(), cache.createSequence()];
  const ids = { a: tokenIdRange(1, 98), b: tokenIdRange(4000, 98) };
  let from = 0;
  for (const tokens of STEPS) {
    await appendIds(cache, a, ids.a.slice(from, from + tokens), 0);
    await appendIds(cache, b, ids.b.slice(from, from + tokens), 1);
    from += tokens;
  }
  for (const [sequence, held, batch] of [
    [a, ids.a, 0],
    [b, ids.b, 1],
  ] as const) {
    await checkContents(cache, sequence, held, batch);
    for (const index of [0, 1, 31, 32, 63, 64, 90, held.length - 1]) {
      const id = held[index] as number;
      const rows = (kvHead: number, headDim: number) =>
        expectedPattern(id, { kvHead, headDim, batch });
      await checkAnswer(cache, sequence, id, rows, `pointing at token ${index}`);
    }
    const rows = (kvHead: number, headDim: number) =>
      expectedMean(held, { kvHead, headDim, batch });
    await checkAnswer(cache, sequence, null, rows, 'the mean of all tokens');
  }
}

async function appendIds(
  cache: Cache,
  sequence: Sequence,
  tokenIds: readonly number[],
  batch: number,
): Promise<void> {
  const layers = modelLayers(cache.plan).map(({ geometry }) => {
    const { kvHeads, keyHeadDim, valueHeadDim } = geometry;
    const shape = (dim: number) => [tokenIds.length, kvHeads, dim];
    const values = pointerValues({ tokenIds, kvHeads, headDim: valueHeadDim, batch });
    return {
      key: f16Tensor(pointerKeys({ tokenIds, kvHeads, headDim: keyHeadDim }), shape(keyHeadDim)),
      value: f16Tensor(values, shape(valueHeadDim)),
    };
  });
  await cache.append([{ sequence, tokens: tokenIds.length }], layers);
}

async function checkContents(
  cache: Cache,
  sequence: Sequence,
  tokenIds: readonly number[],
  batch: number,
): Promise<void> {
  for (const { layer, geometry } of modelLayers(cache.plan)) {
    const { kvHeads, keyHeadDim, valueHeadDim } = geometry;
    const stored = await cache.materialize(sequence, layer);
    const positions = tokenIds.map((_, i) => i);
    ensureSame(stored.keyPositions, positions, 'positions of the keys');
    ensureSame(stored.valuePositions, positions, 'positions of the values');
    const keys = pointerKeys({ tokenIds, kvHeads, headDim: keyHeadDim });
    const values = pointerValues({ tokenIds, kvHeads, headDim: valueHeadDim, batch });
    ensureSame(stored.key.data, decodeF16(keys), 'stored keys');
    ensureSame(stored.value.data, decodeF16(values), 'stored values');
  }
}

async function checkAnswer(
  cache: Cache,
  sequence: Sequence,
  target: number | null,
  rows: (kvHead: number, headDim: number) => Float64Array,
  what: string,
): Promise<void> {
  for (const { layer, geometry } of modelLayers(cache.plan)) {
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = geometry;
    const targets = Array.from({ length: queryHeads }, () => target);
    const query = f16Tensor(pointingQuery(targets, keyHeadDim), [1, queryHeads, keyHeadDim]);
    const options = { logSumExp: true };
    const { output, logSumExp } = await cache.attend(layer, query, [sequence], options).read();
    const group = queryHeads / kvHeads;
    const expected = targets.flatMap((_, head) => [
      ...rows(Math.floor(head / group), valueHeadDim),
    ]);
    ensureWithin(inPointerUnits(output.data), expected, POINTER_ATTENTION, what);
    if (target !== null) continue;
    ensure(logSumExp !== undefined, 'no log-sum-exp was returned');
    const count = targets.map(() => Math.log(sequence.length));
    ensureWithin(logSumExp.data, count, POINTER_ATTENTION, 'log-sum-exp of a zero query');
  }
}
