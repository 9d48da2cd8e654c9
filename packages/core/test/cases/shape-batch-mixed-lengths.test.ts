// Case shape-batch-mixed-lengths: each entry of a ragged batch is what it is alone, whatever lies in unused slots.
import { expect, it } from 'vitest';
import {
  type Backend,
  type BlockStore,
  createCache,
  createPlan,
  type HostTensor,
  type Plan,
  referenceBackend,
  type StoreOptions,
} from '../../src/index.js';
import {
  expectedMean,
  expectedPattern,
  inPointerUnits,
  maxAbsDifference,
  tokenIdRange,
} from '../../src/testing/index.js';
import { exactSchemes, someExactSchemes } from '../support/exact-schemes.js';
import {
  appendIds,
  expectContents,
  firstDifference,
  pointAt,
  pointerInput,
  TOLERANCE,
} from '../support/pointer-cache.js';
import { loadCase } from '../testing/load-case.js';

interface Input {
  lengths: number[];
  shape: { Hq: number; Hk: number; D: number };
  capacity: number;
}
const { input, expected } = loadCase<Input, { zeroQueryMean32_kvHead0: Record<string, number[]> }>(
  'shape-batch-mixed-lengths',
);
const { Hq, Hk, D } = input.shape;

/** The reference backend on pages full of NaN: whatever is read before it is written poisons the result. */
const poisoned: Backend = {
  ...referenceBackend(),
  createStore: async (plan, options) => {
    const store = await referenceBackend().createStore(plan, options);
    await poison(plan, options, store);
    return store;
  },
};

async function poison(plan: Plan, { pages }: StoreOptions, store: BlockStore): Promise<void> {
  for (const { layer, key, value } of plan.layers) {
    for (const { tensor, class: index, windowPageBytes, layout } of [key, value]) {
      const counts = pages[index] ?? { window: 0, packed: 0 };
      for (const [kind, count, size] of [
        ['window', counts.window, windowPageBytes],
        ['packed', counts.packed, layout?.pageBytes ?? 0],
      ] as const) {
        const numbers = tokenIdRange(0, count);
        const bytes = new Uint8Array(count * size).fill(0xff);
        await store.writePages({ layer, tensor, kind, pages: numbers }, bytes);
      }
    }
  }
}

const rows = [...exactSchemes({ residual: 32 }), ...someExactSchemes([0, 128])];

it.each(rows)('$name', async ({ scheme }) => {
  const plan = createPlan(scheme, {
    layers: 1,
    queryHeads: Hq,
    kvHeads: Hk,
    keyHeadDim: D,
    valueHeadDim: D,
  });
  const capacity = { tokens: input.capacity, sequences: 5 };
  const cache = await createCache(plan, poisoned, { capacity });
  const sequences = input.lengths.map(() => cache.createSequence());
  const entries = input.lengths.map((length, batch) => ({ ids: tokenIdRange(0, length), batch }));
  await cache.append(
    sequences.map((sequence, i) => ({ sequence, tokens: input.lengths[i] as number })),
    [pointerInput(cache, entries)],
  );
  const last = input.lengths.map((length) => (length === 0 ? null : length - 1));
  const zero = await batch(sequences.map(() => null));
  const pointed = await batch(last);

  const width = Hq * D;
  for (const [i, length] of input.lengths.entries()) {
    const row = (result: Float64Array) => result.subarray(i * width, (i + 1) * width);
    const heads = tokenIdRange(0, Hq).map((h) => ({
      kvHead: Math.floor(h / (Hq / Hk)),
      headDim: D,
      batch: i,
    }));
    const means = heads.flatMap((place) => [...expectedMean(tokenIdRange(0, length), place)]);
    expect(maxAbsDifference(row(zero), means)).toBeLessThanOrEqual(TOLERANCE);
    const written = expected.zeroQueryMean32_kvHead0[i] as number[];
    const firstHead = Array.from({ length: D }, (_, c) => written[c % 32] as number);
    expect(maxAbsDifference(row(zero).subarray(0, D), firstHead)).toBeLessThanOrEqual(TOLERANCE);
    const target = last[i] ?? null;
    const patterns = heads.flatMap((place) =>
      target === null ? Array<number>(D).fill(0) : [...expectedPattern(target, place)],
    );
    expect(maxAbsDifference(row(pointed), patterns)).toBeLessThanOrEqual(TOLERANCE);
    await expectContents(
      cache,
      sequences[i] as (typeof sequences)[number],
      tokenIdRange(0, length),
      i,
    );

    const alone = await createCache(plan, referenceBackend(), { capacity });
    const single = alone.createSequence();
    if (length > 0) await appendIds(alone, single, tokenIdRange(0, length), { batch: i });
    for (const [target, together] of [
      [null, zero],
      [last[i] ?? null, pointed],
    ] as const) {
      const query = pointAt(alone, Array<number | null>(Hq).fill(target));
      const { output } = await alone.attend(0, query, [single]).read();
      expect(firstDifference(inPointerUnits(output.data), row(together))).toBe(-1);
    }
  }

  async function batch(targets: readonly (number | null)[]): Promise<Float64Array> {
    const query: HostTensor = pointAt(
      cache,
      targets.flatMap((t) => Array(Hq).fill(t)),
    );
    return inPointerUnits((await cache.attend(0, query, sequences).read()).output.data);
  }
});
