// The authors' arithmetic as schemes: ids, fingerprints, what stays of KIVI, and the groups that the original breaks.
import { createPlan, defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { describe, expect, test } from 'vitest';
import { compatPresets, kiviFp16, kiviFp16Codec } from '../src/compat/index.js';
import { kivi, kivi2 } from '../src/index.js';

// A change here orphans every stored snapshot of the preset.
const FINGERPRINTS: Record<string, string> = {
  'kivi-fp16-2bit-g32': 'eac4af50c6dbeb8243da6c7ba4845ad87dc9e6a728673a23f4cbba3c7faa1ebc',
  'kivi-fp16-4bit-g32': '21e30c49027a8e967132535430e3f632f7fefdec6dbd29cc11d2b7f87cb1310f',
  'kivi-fp16-2bit-g64': '16593929434cc066cc77eb5e857f4f29d3f485b24166cd4ceb27816713eeb819',
  'kivi-fp16-4bit-g64': '66a27aa7d5dfb714e1285c2204c75f1227a74f28d65ba289d96a59e9f2c0f90d',
  'kivi-fp16-2bit-g32-r32': '15d58378bb84418dabe008e8e11ba48e68481dc5cf344ab98bc69cdf6fbe8b1f',
  'kivi-fp16-4bit-g32-r32': '902532eb1460bc6723e2f49a6b0d974c98caa09db1fec70b9cd93ca2e029bc00',
};

test('ids', () => {
  expect(compatPresets.map(({ id }) => id)).toEqual(Object.keys(FINGERPRINTS));
});

test.each(compatPresets)('$id keeps its fingerprint', (scheme) => {
  expect(schemeFingerprint(scheme)).toBe(FINGERPRINTS[scheme.id]);
});

test.each(compatPresets)('$id survives JSON, its codec does not', (scheme) => {
  const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: 64, valueHeadDim: 64 };
  const copy = defineScheme(JSON.parse(JSON.stringify({ ...scheme, codecs: undefined })));
  expect(schemeFingerprint(copy)).toBe(schemeFingerprint(scheme));
  expect(() => createPlan(copy, geometry)).toThrow(
    expect.objectContaining({ code: 'CODEC_MISSING' }),
  );
  const plan = createPlan(copy, geometry, { codecs: scheme.codecs ?? [] });
  expect(plan.fingerprint).toBe(createPlan(scheme, geometry).fingerprint);
});

test('windows, groups and order of packing are those of kivi; only arithmetic and bytes differ', () => {
  for (const scheme of compatPresets) {
    expect(scheme.compat).toBe('kivi-fp16');
    const { key, value } = scheme;
    if (key.bits === 16 || value.bits === 16) throw new Error('not packed');
    const plain = kivi({
      bits: key.bits as 2 | 4,
      groupSize: (key.groups as { size: 32 | 64 }).size,
      residualLength: key.window.flush,
    });
    expect(scheme.packing).toBe(plain.packing);
    for (const tensor of ['key', 'value'] as const) {
      const { quantizer: _, parameters: __, ...kept } = plain[tensor] as typeof key;
      expect(scheme[tensor]).toMatchObject(kept);
    }
  }
  expect(kivi2.compat).toBeUndefined();
});

test('options are those of kivi', () => {
  expect(kiviFp16({ bits: 4, residualLength: 64 }).id).toBe('kivi-fp16-4bit-g32-r64');
  expect(kiviFp16({ bits: 2, id: 'mine' }).id).toBe('mine');
  expect(() => kiviFp16({ bits: 3 } as never)).toThrow(
    expect.objectContaining({ code: 'OPTION_INVALID' }),
  );
  expect(() => kiviFp16({ bits: 2, groupSize: 64, residualLength: 32 })).toThrow(/window\.flush/);
});

describe('groups by hand, 2 bits', () => {
  const codec = kiviFp16Codec(2, 32);
  const run = (values: readonly number[]) => {
    const bytes = new Uint8Array(codec.groupBytes);
    const decoded = new Float32Array(32);
    codec.encodeGroup(
      Float32Array.from({ length: 32 }, (_, i) => values[i % values.length]!),
      bytes,
    );
    codec.decodeGroup(bytes, decoded);
    return { words: [...new Uint32Array(bytes.slice(0, 8).buffer)], decoded: decoded.slice(0, 4) };
  };

  test('codes 0 1 2 3', () => {
    const { words, decoded } = run([-1, -0.5, 0.2, 0.5]);
    expect(words).toEqual([0xe4e4e4e4, 0xe4e4e4e4]);
    expect(decoded).toEqual(Float32Array.of(-1, -0.5, 0, 0.5));
  });

  test('a constant group sets bit 31 of every word and comes back', () => {
    const { words, decoded } = run([0.3125]);
    expect(words).toEqual([0x80000000, 0x80000000]);
    expect(decoded).toEqual(new Float32Array(4).fill(0.3125));
  });

  test('a scale that underflows: elements above the minimum have the largest code', () => {
    const { words, decoded } = run([0, 2 ** -24]);
    expect(words).toEqual([0xcccccccc | 0x80000000, 0xcccccccc | 0x80000000].map((w) => w >>> 0));
    expect(decoded).toEqual(new Float32Array(4));
  });

  test('a range beyond f16 decodes to NaN', () => {
    expect(run([-40000, 40000]).decoded).toEqual(new Float32Array(4).fill(Number.NaN));
  });
});
