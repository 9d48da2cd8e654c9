/**
 * The recipes that the presets were chosen from, as schemes that `lowbit-kv compare --scheme FILE` takes. In ids, c and n
 * are centred and normalised keys.
 */
import type { Scheme } from '@lowbit-kv/core';
import { type LowbitTensor, lowbit } from '../src/index.js';

const LLOYD_MAX = [-1.5104, -0.4528, 0.4528, 1.5104];
const values: LowbitTensor = {
  bits: 2,
  centerFrom: 2,
  rotationSeed: 0,
  codes: 'midRise',
  group: 'head',
};
const signed: LowbitTensor = {
  bits: 3,
  centerFrom: 1,
  normalize: true,
  codes: 'signed',
  group: 32,
};
const rotated: LowbitTensor = {
  bits: 2,
  centerFrom: 0,
  rotationSeed: 0,
  codes: LLOYD_MAX,
  group: 'head',
};
const { rotationSeed: _, ...straight } = rotated;
const { centerFrom: __, ...notCentred } = rotated;
const groups64 = { codes: 'signed', group: 64 } as const;

/** 2-bit keys, 2.25 bits in all. */
const twoBitKeys: Readonly<Record<string, LowbitTensor>> = {
  rotated: notCentred,
  'c-rotated': rotated,
  'c-rotated-signed': { ...rotated, ...groups64 },
  'cn-signed': { ...straight, normalize: true, ...groups64 },
  'cn-rotated-signed': { ...rotated, normalize: true, ...groups64 },
  'cn-rotated': { ...rotated, normalize: true },
  'cn-rotated-mid-rise': { ...rotated, normalize: true, codes: 'midRise' },
};

export const presets: readonly Scheme[] = [
  ...[97, 256].flatMap((statisticsTokens) =>
    Object.entries(twoBitKeys).map(([name, key]) =>
      lowbit({ id: `${name}-n${statisticsTokens}`, key, value: values, statisticsTokens }),
    ),
  ),
  ...[1, 2, 3].flatMap((rotationSeed) =>
    [97, 256].map((statisticsTokens) =>
      lowbit({
        id: `cn-rotated-mid-rise-n${statisticsTokens}-seed${rotationSeed}`,
        key: { ...rotated, normalize: true, codes: 'midRise', rotationSeed },
        value: values,
        statisticsTokens,
      }),
    ),
  ),
  ...[0, 1, 2].map((centerFrom) =>
    lowbit({
      id: `keys-centred-from-${centerFrom}`,
      key: { ...signed, centerFrom },
      value: values,
    }),
  ),
  ...[0, 1, 4].map((centerFrom) =>
    lowbit({
      id: `values-centred-from-${centerFrom}`,
      key: signed,
      value: { ...values, centerFrom },
    }),
  ),
  lowbit({
    id: 'values-not-centred',
    key: signed,
    value: { bits: 2, rotationSeed: 0, codes: 'midRise', group: 'head' },
  }),
  lowbit({ id: 'values-lloyd-max', key: signed, value: { ...values, codes: LLOYD_MAX } }),
  lowbit({ id: 'four-bit-keys', key: { ...signed, bits: 4 }, value: values }),
  lowbit({ id: 'three-bit-values', key: signed, value: { ...values, bits: 3 } }),
];
