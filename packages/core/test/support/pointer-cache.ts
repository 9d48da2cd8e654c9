/**
 * Drives a cache with pointer data: appends token ids, and checks what attention and the stored values say.
 */
import { expect } from 'vitest';
import {
  type Cache,
  type CreateCacheOptions,
  createCache,
  createPlan,
  decodeF16,
  f16Tensor,
  type Geometry,
  type HostTensor,
  type PlanOptions,
  referenceBackend,
  type Scheme,
  type Sequence,
} from '../../src/index.js';
import {
  expectedMean,
  expectedPattern,
  inPointerUnits,
  maxAbsDifference,
  pointerKeys,
  pointerValues,
  pointingQuery,
} from '../../src/testing/index.js';

/** What the pointer cases allow; pointer data is lossless, so the rest is the softmax. */
export const TOLERANCE = 1e-3;

export const GEOMETRY: Geometry = {
  layers: 1,
  queryHeads: 2,
  kvHeads: 1,
  keyHeadDim: 64,
  valueHeadDim: 64,
};

export async function openCache(
  scheme: Scheme,
  geometry: Partial<Geometry> = {},
  options: Partial<CreateCacheOptions> & { readonly plan?: PlanOptions } = {},
): Promise<Cache> {
  const { plan, ...rest } = options;
  return createCache(
    createPlan(scheme, { ...GEOMETRY, ...geometry }, plan ?? {}),
    referenceBackend(),
    { capacity: { tokens: 2048, sequences: 8 }, ...rest },
  );
}

/** K and V of ids, the batch entries one after another. */
export function pointerInput(
  cache: Cache,
  entries: readonly { readonly ids: readonly number[]; readonly batch?: number }[],
  layer = 0,
): { readonly key: HostTensor; readonly value: HostTensor } {
  const { kvHeads, keyHeadDim, valueHeadDim } = layerGeometry(cache, layer);
  const tokenIds = entries.flatMap(({ ids }) => ids);
  const values = entries.map(({ ids, batch = 0 }) =>
    pointerValues({ tokenIds: ids, kvHeads, headDim: valueHeadDim, batch }),
  );
  const joined = new Uint16Array(tokenIds.length * kvHeads * valueHeadDim);
  let at = 0;
  for (const part of values) {
    joined.set(part, at);
    at += part.length;
  }
  return {
    key: f16Tensor(pointerKeys({ tokenIds, kvHeads, headDim: keyHeadDim }), [
      tokenIds.length,
      kvHeads,
      keyHeadDim,
    ]),
    value: f16Tensor(joined, [tokenIds.length, kvHeads, valueHeadDim]),
  };
}

/** Appends ids to one sequence, the same to every layer, in steps of `chunk`. */
export async function appendIds(
  cache: Cache,
  sequence: Sequence,
  ids: readonly number[],
  options: { readonly chunk?: number; readonly batch?: number } = {},
): Promise<void> {
  const { chunk = ids.length, batch = 0 } = options;
  for (let first = 0; first < ids.length; first += chunk) {
    const part = ids.slice(first, first + chunk);
    const layers = cache.plan.layers.map(({ layer }) =>
      pointerInput(cache, [{ ids: part, batch }], layer),
    );
    await cache.append([{ sequence, tokens: part.length }], layers);
  }
}

/** One query token per sequence; `targets` per query head, null for the zero query. */
export function pointAt(cache: Cache, targets: readonly (number | null)[], layer = 0): HostTensor {
  const { queryHeads, keyHeadDim } = layerGeometry(cache, layer);
  const rows = targets.length / queryHeads;
  return f16Tensor(pointingQuery(targets, keyHeadDim), [rows, queryHeads, keyHeadDim]);
}

/** Output of every query head, in pointer units, `[queryHeads, valueHeadDim]`. */
export async function ask(
  cache: Cache,
  sequence: Sequence,
  target: number | null,
  layer = 0,
): Promise<{ output: Float64Array; logSumExp: ArrayLike<number> }> {
  const { queryHeads } = layerGeometry(cache, layer);
  const targets = Array.from({ length: queryHeads }, () => target);
  const result = await cache
    .attend(layer, pointAt(cache, targets, layer), [sequence], { logSumExp: true })
    .read();
  return {
    output: inPointerUnits(result.output.data),
    logSumExp: (result.logSumExp as HostTensor).data,
  };
}

/** Every query head of a pointing query returns the pattern of the id. */
export async function expectPattern(
  cache: Cache,
  sequence: Sequence,
  id: number,
  batch = 0,
): Promise<void> {
  const { output } = await ask(cache, sequence, id);
  expect(
    maxAbsDifference(
      output,
      everyHead(cache, (kvHead, headDim) => expectedPattern(id, { kvHead, headDim, batch })),
    ),
    `pointing at ${id}`,
  ).toBeLessThanOrEqual(TOLERANCE);
}

/** A zero query returns the mean of exactly these ids, and its log-sum-exp counts them. */
export async function expectMean(
  cache: Cache,
  sequence: Sequence,
  visible: readonly number[],
  batch = 0,
): Promise<void> {
  const { output, logSumExp } = await ask(cache, sequence, null);
  expect(
    maxAbsDifference(
      output,
      everyHead(cache, (kvHead, headDim) => expectedMean(visible, { kvHead, headDim, batch })),
    ),
  ).toBeLessThanOrEqual(TOLERANCE);
  for (const value of Array.from(logSumExp)) expect(value).toBeCloseTo(Math.log(visible.length), 5);
}

/** The zero query against the 32 numbers a case file writes out, for the query heads of one kv head of batch entry 0. */
export async function expectMean32(
  cache: Cache,
  sequence: Sequence,
  mean32: readonly number[],
  kvHead = 0,
): Promise<void> {
  const { output } = await ask(cache, sequence, null);
  const { queryHeads, kvHeads, valueHeadDim } = layerGeometry(cache, 0);
  const size = (queryHeads / kvHeads) * valueHeadDim;
  const actual = output.subarray(kvHead * size, (kvHead + 1) * size);
  const expected = Array.from(actual, (_, i) => mean32[(i % valueHeadDim) % 32] as number);
  expect(maxAbsDifference(actual, expected)).toBeLessThanOrEqual(TOLERANCE);
}

/** The stored keys and values are those of the ids, to the bit, at positions 0, 1, 2, ... */
export async function expectContents(
  cache: Cache,
  sequence: Sequence,
  ids: readonly number[],
  batch = 0,
): Promise<void> {
  expect(sequence.length).toBe(ids.length);
  const { kvHeads, keyHeadDim, valueHeadDim } = layerGeometry(cache, 0);
  const stored = await cache.materialize(sequence, 0);
  const positions = ids.map((_, i) => i);
  expect(stored.keyPositions).toEqual(positions);
  expect(stored.valuePositions).toEqual(positions);
  const keys = decodeF16(pointerKeys({ tokenIds: ids, kvHeads, headDim: keyHeadDim }));
  const values = decodeF16(pointerValues({ tokenIds: ids, kvHeads, headDim: valueHeadDim, batch }));
  expect(firstDifference(stored.key.data, keys)).toBe(-1);
  expect(firstDifference(stored.value.data, values)).toBe(-1);
}

/** Index of the first unequal element, or -1. */
export function firstDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Math.min(a.length, b.length);
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return i;
  return -1;
}

export function layerGeometry(cache: Cache, layer: number) {
  const plan = cache.plan.layers[layer];
  if (plan === undefined) throw new Error(`no layer ${layer}`);
  return plan.geometry;
}

function everyHead(cache: Cache, row: (kvHead: number, headDim: number) => Float64Array): number[] {
  const { queryHeads, kvHeads, valueHeadDim } = layerGeometry(cache, 0);
  return Array.from({ length: queryHeads }, (_, head) => [
    ...row(Math.floor(head / (queryHeads / kvHeads)), valueHeadDim),
  ]).flat();
}
