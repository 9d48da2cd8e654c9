// What is said about bytes is what the law wrote: for every kind of field.
import {
  createCache,
  createPlan,
  decodeTokens,
  f16Tensor,
  type PackedTensorPlan,
  pageFields,
  referenceBackend,
  type Scheme,
} from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { presets as baselines } from '@lowbit-kv/scheme-baselines';
import { innerqHybrid } from '@lowbit-kv/scheme-innerq';
import { kivi2 } from '@lowbit-kv/scheme-kivi';
import { kvquant3 } from '@lowbit-kv/scheme-kvquant';
import { oakenSm, oakenSmToken } from '@lowbit-kv/scheme-oaken';
import { describe, expect, it } from 'vitest';
import { byteOfElement, explainByte, FIELD_MEANING } from '../src/run/explain-byte.js';
import { calibrationFor } from './support/calibration.js';

const GEOMETRY = { layers: 1, queryHeads: 2, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 64 };
const TOKENS = 300;

async function packed(scheme: Scheme, tensor: 'key' | 'value') {
  const geometry = { ...GEOMETRY, rotary: { pairs: 'halves' as const } };
  const shape = [TOKENS, 2, 64];
  const bits = (seed: number) => lcgNormal({ seed, shape, dtype: 'f16' });
  const calibration = await calibrationFor(scheme, bits(1), bits(2), shape);
  const plan = createPlan(scheme, geometry, calibration === null ? {} : { calibration });
  const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: TOKENS } });
  const sequence = cache.createSequence();
  const input = { key: f16Tensor(bits(1), shape), value: f16Tensor(bits(2), shape) };
  await cache.append([{ sequence, tokens: TOKENS }], [input]);
  const blocks = await cache.exportBlocks(sequence, 0, tensor);
  cache.dispose();
  const block = blocks[1] ?? blocks[0];
  if (block === undefined) throw new Error('nothing was packed');
  return { plan: plan.layers[0]?.[tensor] as PackedTensorPlan, block };
}

const CASES = [
  ['codes along tokens', kivi2, 'key'],
  ['codes along channels', kivi2, 'value'],
  ['3-bit codes across bytes', kvquant3, 'key'],
  ['hybrid groups', innerqHybrid, 'value'],
  ['bands per head', oakenSm, 'key'],
  ['bands over all heads', oakenSmToken, 'value'],
  ['scales of one byte', baselines.find(({ id }) => id.includes('mxfp4')) as Scheme, 'key'],
] as const;

describe.each(CASES)('%s', async (_, scheme, tensor) => {
  const location = await packed(scheme, tensor);
  const { plan, block } = location;
  const fields = pageFields(plan.layout).filter(({ head, bytes }) => head !== 0 && bytes > 0);

  it('every byte of every field has a sentence', () => {
    for (const field of fields) {
      expect(FIELD_MEANING[field.name]).toMatch(/^[a-z]/);
      for (let byte = 0; byte < field.bytes; byte++) {
        const text = explainByte(location, field, byte);
        expect(text).toMatch(/^[A-Z].*\.$/);
        expect(text).not.toMatch(/NaN|undefined|not finite/);
      }
    }
  });

  it('the byte of an element names its token and channel', () => {
    const [slot, channel] = [21, 37];
    const token = block.position + slot;
    const names = (text: string, kind: string, index: number) =>
      [...text.matchAll(new RegExp(`${kind}s? (\\d+)(?: to (\\d+))?`, 'g'))].some(
        ([, from, to]) => index >= Number(from) && index <= Number(to ?? from),
      );
    for (const field of fields.filter(({ name }) => !name.startsWith('outlier'))) {
      const text = explainByte(location, field, byteOfElement(location, field, { slot, channel }));
      expect(names(text.toLowerCase(), 'token', token), text).toBe(true);
      if (field.name === 'codes') expect(names(text, 'channel', channel), text).toBe(true);
    }
  });

  it('outliers are those that decoding finds', () => {
    const outliers = fields.find(({ name }) => name === 'outliers');
    if (outliers === undefined) return;
    const before = new Float32Array(64);
    const after = new Float32Array(64);
    const text = explainByte(location, outliers, 3);
    const [, token, channel] =
      /^Token (\d+), channel (\d+): a very (?:large|small)/.exec(text) ?? [];
    const slot = Number(token) - block.position;
    decodeTokens(plan, block.bytes, 1, slot, 1, before);
    const changed = block.bytes.slice();
    // Another fifth bit: another value of this element and of no other.
    changed[outliers.offset + 3] = (changed[outliers.offset + 3] as number) ^ 128;
    decodeTokens(plan, changed, 1, slot, 1, after);
    expect([...before.keys()].filter((i) => before[i] !== after[i])).toEqual([Number(channel)]);
  });
});

it('codes and parameters are the stored ones', async () => {
  const location = await packed(kivi2, 'key');
  const { plan, block } = location;
  const fields = pageFields(plan.layout).filter(({ head }) => head === 1);
  const [codes, scale, zero] = fields as [
    (typeof fields)[0],
    (typeof fields)[0],
    (typeof fields)[0],
  ];
  const element = { slot: 40, channel: 5 };
  const said = (field: typeof codes) =>
    explainByte(location, field, byteOfElement(location, field, element));
  const [, list] = /: ([\d, ]+), lowest/.exec(said(codes)) ?? [];
  const four = (list ?? '').split(', ').map(Number);
  const value = (field: typeof codes) =>
    Number(/: (\S+), byte/.exec(said(field))?.[1]?.replace('−', '-'));
  const decoded = new Float32Array(4 * 64);
  decodeTokens(plan, block.bytes, 1, 40, 4, decoded);
  expect(four).toHaveLength(4);
  for (const [i, code] of four.entries()) {
    const exact = decoded[i * 64 + 5] as number;
    expect(Math.abs(code * value(scale) + value(zero) - exact)).toBeLessThan(0.002);
  }
  expect(new Set(four).size).toBeGreaterThan(1);
  expect(said(scale)).toMatch(/^Scale of channel 5, tokens \d+ to \d+: /);
});
