// num-missing-or-zero-scales: codes whose scales are absent, zero, or of another type than the plan reads.
import { describe, expect, it } from 'vitest';
import { LowbitKvError } from '../../src/errors.js';
import { encodeF16 } from '../../src/float16.js';
import { type Cache, defineScheme, type QuantizedTensorScheme } from '../../src/index.js';
import type { PackedTensorPlan } from '../../src/law/encode.js';
import { headsFirstToRagged, lcgNormal, type NormalRecipe } from '../../src/testing/index.js';
import { groupScheme } from '../law/support.js';
import { checksum } from '../support/checksum.js';
import { loadCase } from '../testing/load-case.js';
import { cacheOf, filled, schemeOf } from './num-support.js';

const { input } = loadCase<{ runs: { name: string }[] }, unknown>('num-missing-or-zero-scales');
const outliers = loadCase<{ K: NormalRecipe<'f16'> }, unknown>('num-key-channel-outliers').input.K;
const [, HEADS, TOKENS, DIM] = outliers.shape as [number, number, number, number];
const KEYS = headsFirstToRagged(lcgNormal(outliers), { heads: HEADS, tokens: TOKENS, dim: DIM });
const geometry = {
  layers: 1,
  queryHeads: HEADS,
  kvHeads: HEADS,
  keyHeadDim: DIM,
  valueHeadDim: DIM,
};
const ASYMMETRIC = { mode: 'asymmetric', codes: 'uniform' } as const;
const SCHEMES: [string, QuantizedTensorScheme][] = [
  ['asymmetric along tokens', groupScheme(4, 'tokens', 32, ASYMMETRIC)],
  ['asymmetric along channels', groupScheme(2, 'channels', 32, ASYMMETRIC)],
  ['symmetric', groupScheme(3, 'channels', 32, { mode: 'symmetric', codes: 'fullSigned' })],
];

async function snapshotOf(scheme: QuantizedTensorScheme, keys = KEYS) {
  const cache = await cacheOf(scheme, { bits: 16 }, geometry, { tokens: 2 * TOKENS });
  const sequence = await filled(cache, TOKENS, keys, KEYS);
  return { cache, bytes: await cache.snapshot([sequence]) };
}

/** Changes the payload of a snapshot and seals it again: damage that the checksum does not show. */
function resealed(bytes: Uint8Array, change: (payload: Uint8Array) => Uint8Array): Uint8Array {
  const start = 12 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
  const payload = change(bytes.slice(start, -32));
  const result = new Uint8Array(start + payload.length + 32);
  result.set(bytes.subarray(0, start));
  result.set(payload, start);
  result.set(checksum(result.subarray(0, -32)), start + payload.length);
  return result;
}

async function refusal(act: () => unknown): Promise<LowbitKvError> {
  try {
    await act();
  } catch (error) {
    if (LowbitKvError.is(error)) return error;
    throw error;
  }
  return expect.fail('nothing was refused');
}

/** What a restore that is refused must leave: nothing. */
async function pagesInUse(cache: Cache): Promise<string> {
  return JSON.stringify(await cache.stats());
}

it('the case still has the four runs below', () => {
  expect(input.runs.map(({ name }) => name)).toEqual([
    'scales tensor all zero',
    'scales buffer not bound',
    'scales given as f32 where f16 declared',
    'zero points given as bf16 bits where f32 declared',
  ]);
});

describe.each(SCHEMES)('%s', (_name, scheme) => {
  it('refuses scales that are all zero beside codes', async () => {
    const { cache, bytes } = await snapshotOf(scheme);
    expect((await cache.restore(resealed(bytes, (payload) => payload))).length).toBe(1);
    const before = await pagesInUse(cache);
    const plan = cache.plan.layers[0]!.key as PackedTensorPlan;
    const { headBytes, parameters } = plan.layout;
    const plane = parameters.find(({ name }) => name === 'scale')!;
    // Only the second head loses its scales.
    const damaged = resealed(bytes, (payload) =>
      payload.fill(0, headBytes + plane.offset, headBytes + plane.offset + 2 * plane.count),
    );
    const error = await refusal(() => cache.restore(damaged));
    expect(error.code).toBe('BLOCK_INVALID');
    expect(error.where).toMatchObject({ tensor: 'key', layer: 0, head: 1, group: 0 });
    expect(await pagesInUse(cache)).toBe(before);
  });

  it('takes scales of zero where every code is zero', async () => {
    const constant = new Uint16Array(KEYS.length).fill(
      scheme.quantizer.mode === 'symmetric' ? 0 : 0x3c00,
    );
    const { cache, bytes } = await snapshotOf(scheme, constant);
    const [sequence] = await cache.restore(bytes);
    const { key } = await cache.materialize(sequence!, 0);
    expect(encodeF16(key.data as Float32Array)).toEqual(constant);
  });

  it('refuses a payload without scales, and one with f32 scales, by its size', async () => {
    const { cache, bytes } = await snapshotOf(scheme);
    const plan = cache.plan.layers[0]!.key as PackedTensorPlan;
    const plane = plan.layout.parameters.find(({ name }) => name === 'scale')!;
    const end = plane.offset + 2 * plane.count;
    const missing = resealed(bytes, (payload) =>
      Uint8Array.from([...payload.subarray(0, plane.offset), ...payload.subarray(end)]),
    );
    const wide = resealed(bytes, (payload) =>
      Uint8Array.from([
        ...payload.subarray(0, end),
        ...new Uint8Array(2 * plane.count),
        ...payload.subarray(end),
      ]),
    );
    for (const damaged of [missing, wide]) {
      const error = await refusal(() => cache.restore(damaged));
      expect(error.code).toBe('SNAPSHOT_INVALID');
      expect(error.message).toContain('wrong size');
      expect(error.valid).toMatch(/^\d+ bytes$/);
    }
  });
});

it('blocks whose scales are f32 are refused by a plan that declares f16', async () => {
  const wide = { ...SCHEMES[0]![1], parameters: { scale: 'f32', zero: 'f16' } } as const;
  const { bytes } = await snapshotOf(wide);
  const { cache } = await snapshotOf(SCHEMES[0]![1]);
  const before = await pagesInUse(cache);
  expect((await refusal(() => cache.restore(bytes))).code).toBe('SNAPSHOT_MISMATCH');
  expect(await pagesInUse(cache)).toBe(before);
});

it('a zero of a type the contract does not know is refused with the types it knows', async () => {
  const scheme = { ...SCHEMES[0]![1], parameters: { scale: 'f16', zero: 'bf16' } };
  const error = await refusal(() =>
    defineScheme(schemeOf(scheme as unknown as QuantizedTensorScheme, { bits: 16 })),
  );
  expect(error.code).toBe('SCHEME_INVALID');
  for (const part of ['zero', 'bf16', 'f16', 'f32']) expect(error.message).toContain(part);
});
