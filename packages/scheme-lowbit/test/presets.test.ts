// What the package promises of its schemes: ids, exact bits, frozen data, JSON round trip, stable fingerprints, refused options.
import {
  bitsPerElement,
  createLowbitKv,
  createPlan,
  defineScheme,
  schemeFingerprint,
} from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { type LowbitTensor, lowbit, midRiseLevels, presets } from '../src/index.js';

// A change here orphans every stored snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'lowbit-2-3': '5bc1275d1f9032a78dcad35f818482a907db52423939a130633c1507b2f6524d',
  'lowbit-2-9': '7664a8082d458ce8ec789249ae2dc757c3da4484b44e4054f2ca101dee5beb52',
  'lowbit-3-4': '0362352b3b76449c3026fd3450a95c0ab6e2496386acf5536c1a6f2e7e06802c',
  'lowbit-4-4': '0630c5c3b35b3d09f45722f5d919489f6c00f4e928442441cd8dab5016f4fbee',
};

test('ids', () => {
  expect(presets.map(({ id }) => id)).toEqual(Object.keys(FINGERPRINTS));
});

test.each(presets)('$id keeps its fingerprint', (scheme) => {
  expect(schemeFingerprint(scheme)).toBe(FINGERPRINTS[scheme.id]);
});

test.each(presets)('$id is frozen to the bottom and survives JSON', (scheme) => {
  expect(Object.isFrozen(scheme)).toBe(true);
  for (const tensor of [scheme.key, scheme.value]) {
    if (tensor.bits === 16) throw new Error('tensor not quantized');
    expect(Object.isFrozen(tensor.transforms?.[0])).toBe(true);
    expect(Object.isFrozen(tensor.quantizer)).toBe(true);
  }
  const copy = defineScheme(JSON.parse(JSON.stringify(scheme)));
  expect(copy).toEqual(scheme);
  expect(schemeFingerprint(copy)).toBe(schemeFingerprint(scheme));
});

test('the list is frozen and registers as it is', () => {
  expect(Object.isFrozen(presets)).toBe(true);
  const kit = createLowbitKv({ schemes: presets });
  expect(kit.schemes.get('lowbit-2-9')).toEqual(presets[1]);
});

test.each([
  [64, [2.25, 2.875, 3.375, 4.375]],
  [128, [2.125, 2.8125, 3.3125, 4.3125]],
] as const)('bits per element at head dim %i, without windows', (headDim, expected) => {
  const dims = { keyHeadDim: headDim, valueHeadDim: headDim };
  const geometry = { layers: 2, queryHeads: 32, kvHeads: 8, ...dims };
  for (const [i, scheme] of presets.entries()) {
    const bits = bitsPerElement(createPlan(scheme, geometry)).all;
    expect(bits.total).toBe(expected[i]);
    expect(bits.alignment).toBe(0);
    if (headDim === 64) expect(`lowbit-${bits.total.toFixed(1).replace('.', '-')}`).toBe(scheme.id);
  }
});

test('mid-rise levels: as many as codes, equal steps, odd', () => {
  for (const [bits, step] of [
    [2, 0.9957],
    [3, 0.586],
    [4, 0.335],
  ] as const) {
    const levels = midRiseLevels(bits);
    expect(levels.length).toBe(2 ** bits);
    expect(levels.map((level) => -level).reverse()).toEqual(levels);
    for (const [i, level] of levels.slice(1).entries())
      expect(level - levels[i]!).toBeCloseTo(step, 12);
  }
});

const plain: LowbitTensor = { bits: 3, codes: 'signed', group: 64 };

test('every part stands alone, for keys and values', () => {
  const transformsOf = (part: Partial<LowbitTensor>) => {
    const tensor = lowbit({ id: 'x', key: { ...plain, ...part }, value: plain, recent: 7 }).key;
    if (tensor.bits === 16) throw new Error('tensor not quantized');
    return tensor.transforms;
  };
  const measured = { scope: 'sequence', statisticsTokens: 8 };
  const always = { kind: 'channelMean', ...measured };
  const scale = { kind: 'channelScale', ...measured, statistic: 'rootAbsoluteMaximum' };
  expect(transformsOf({})).toBeUndefined();
  expect(transformsOf({ centerFrom: 0 })).toEqual([always]);
  expect(transformsOf({ centerFrom: 2.5 })).toEqual([{ ...always, minimumOffset: 2.5 }]);
  expect(transformsOf({ normalize: true })).toMatchObject([scale]);
  expect(transformsOf({ rotationSeed: 9 })).toEqual([{ kind: 'hadamard', seed: 9 }]);
  expect(transformsOf({ rotationSeed: 9, normalize: true, centerFrom: 0 })).toMatchObject([
    always,
    scale,
    { kind: 'hadamard', seed: 9 },
  ]);
});

test('options go where they belong', () => {
  const levels = [-2, -1, 1, 3];
  const scheme = lowbit({
    id: 'mine',
    key: { bits: 4, codes: 'midRise', group: 32, centerFrom: 0 },
    value: { bits: 2, codes: levels, group: 'head' },
    sinks: 5,
    recent: 7,
    statisticsTokens: 11,
  });
  expect(scheme).toMatchObject({ id: 'mine', sinks: 5, calibration: { kind: 'prefill' } });
  expect(scheme.key).toMatchObject({
    bits: 4,
    groups: { along: 'channels', size: 32 },
    quantizer: { codes: { levels: midRiseLevels(4), scaledBy: 'rootMeanSquare' } },
    window: { recent: 7, flush: 1 },
    transforms: [{ statisticsTokens: 11 }],
  });
  expect(scheme.value).toMatchObject({
    bits: 2,
    groups: { along: 'vector', scope: 'head' },
    quantizer: { codes: { levels, scaledBy: 'rootMeanSquare' } },
  });
  expect(lowbit({ id: 'x', key: plain, value: plain })).toMatchObject({
    sinks: 32,
    key: { quantizer: { codes: 'fullSigned' }, window: { recent: 96 } },
    calibration: { kind: 'none' },
  });
});

test.each([
  [{ key: { ...plain, bits: 5 } }, 'key.bits'],
  [{ value: { ...plain, group: 16 } }, 'value.group'],
  [{ value: { ...plain, centerFrom: -1 } }, 'value.centerFrom'],
  [{ key: { ...plain, rotationSeed: 2 ** 32 } }, 'key.rotationSeed'],
  [{ key: { ...plain, codes: 'full' } }, 'key.codes'],
  [{ key: { ...plain, scale: 'e4m3' } }, 'scale'],
  [{ recent: -1 }, 'recent'],
  [{ statisticsTokens: 0 }, 'statisticsTokens'],
  [{ id: 7 }, 'id'],
])('%j is refused', (changed, field) => {
  const options = { id: 'x', key: plain, value: plain, ...changed };
  expect(() => lowbit(options as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(field) }),
  );
});

test('levels that do not fit the bits are refused', () => {
  const key = { ...plain, bits: 2, codes: [1, 2, 3, 4, 5] } as const;
  expect(() => lowbit({ id: 'x', key, value: plain })).toThrow(
    expect.objectContaining({ code: 'SCHEME_INVALID' }),
  );
});
