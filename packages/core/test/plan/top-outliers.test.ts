// Top outliers in plans and caches: exact bytes, wide channel numbers, what does not fit, and outliers that come back exactly.
import { describe, expect, it } from 'vitest';
import {
  bitsPerElement,
  createCache,
  createPlan,
  f16Tensor,
  LowbitKvError,
  planBytes,
  type QuantizedTensorScheme,
  referenceBackend,
} from '../../src/index.js';
import { encodeTokens, type PackedTensorPlan } from '../../src/law/encode.js';
import { lcgNormal } from '../../src/testing/index.js';
import { schemeOf } from '../law/support.js';
import { scheme, tensor } from '../support/schemes.js';

function withTop(spec: unknown, count: number): QuantizedTensorScheme {
  const outliers = { kind: 'top', count, storage: { format: 'list' } };
  return { ...(spec as QuantizedTensorScheme), outliers } as QuantizedTensorScheme;
}

function planOf(key: QuantizedTensorScheme, headDim: number, heads = 2) {
  const geometry = {
    layers: 1,
    queryHeads: heads,
    kvHeads: heads,
    keyHeadDim: headDim,
    valueHeadDim: 16,
  };
  return createPlan(schemeOf(key), geometry, { blockTokens: 32 });
}

const FOUR_BIT = tensor({ bits: 4, size: 16, recent: 0 });

describe('the layout', () => {
  it('has fixed room for values and channels, of one byte up to 256 channels', () => {
    const narrow = planOf(withTop(FOUR_BIT, 3), 64).layers[0]!.key.layout!;
    // Codes, scales and zeros of 32 tokens, then 32 * 3 values and as many channels.
    const end = 32 * 32 + 2 * 32 * 4 * 2;
    expect(narrow.top).toEqual({
      count: 3,
      values: { offset: end },
      channels: { offset: end + 192, entryBytes: 1 },
    });
    expect(narrow.headBytes).toBe(end + 192 + 96);
    const wide = planOf(withTop(FOUR_BIT, 3), 272).layers[0]!.key.layout!;
    expect(wide.top!.channels.entryBytes).toBe(2);
    expect(wide.headBytes - wide.top!.channels.offset).toBe(192);
    expect(planOf(withTop(FOUR_BIT, 1), 256).layers[0]!.key.layout!.top!.channels.entryBytes).toBe(
      1,
    );
  });

  it('counts every byte of them', () => {
    const plan = planOf(withTop(FOUR_BIT, 3), 64);
    const { outlierEntries, outlierOffsets, total, codes, parameters } = bitsPerElement(plan).key;
    expect([outlierEntries, outlierOffsets]).toEqual([(3 * 24) / 64, 0]);
    expect([codes, parameters, total]).toEqual([4, 2, 6 + (3 * 24) / 64]);
    const bytes = planBytes(plan, 37);
    expect(bytes.outliers).toEqual({ reserved: 37 * 2 * 3 * 3, expected: 37 * 2 * 3 * 3 });
  });

  it('refuses more outliers than channels, and beside a codec', () => {
    expect(() => planOf(withTop(FOUR_BIT, 64), 64)).not.toThrow();
    const shape = (() => {
      try {
        planOf(withTop(FOUR_BIT, 65), 64);
      } catch (error) {
        if (LowbitKvError.is(error, 'SHAPE_UNSUPPORTED')) return error;
        throw error;
      }
      return expect.fail('nothing was refused');
    })();
    expect(shape).toMatchObject({
      value: { count: 65, headDim: 64 },
      valid: 'at most 64 outliers',
    });
    const codec = {
      ...withTop(FOUR_BIT, 1),
      quantizer: { mode: 'codec', codes: 'any', version: 1, groupBytes: 8 },
      parameters: {},
    } as QuantizedTensorScheme;
    expect(() => planOf(codec, 64)).toThrow(/the bytes of a codec/);
  });
});

describe.each([
  ['along tokens', tensor({ bits: 2, along: 'tokens', size: 8 })],
  ['along channels', tensor({ bits: 2, size: 16 })],
  ['vectors of 272 channels', tensor({ bits: 2, along: 'vector', codes: 'full' })],
])('outliers of groups %s', (name, spec) => {
  const dim = name.includes('272') ? 272 : 32;
  it('come back exactly, and what is left has the range of the rest', async () => {
    const base = { ...scheme({ key: { bits: 16 } }), value: withTop(spec, 2) };
    const shape = { layers: 1, queryHeads: 2, kvHeads: 2, keyHeadDim: 8, valueHeadDim: dim };
    const cache = await createCache(createPlan(base, shape), referenceBackend(), {
      capacity: { tokens: 64 },
    });
    const rows = lcgNormal({ seed: 9, shape: [48, 2, dim], dtype: 'f16', std: 0.5 });
    const large = (token: number, head: number) => [
      (7 * token + head) % dim,
      dim - 1 - (token % 3),
    ];
    for (let token = 0; token < 48; token++) {
      for (const head of [0, 1]) {
        for (const [i, channel] of large(token, head).entries())
          rows[(token * 2 + head) * dim + channel] = 0x5800 + token + i;
      }
    }
    const sequence = cache.createSequence();
    const key = f16Tensor(new Uint16Array(48 * 16), [48, 2, 8]);
    await cache.append([{ sequence, tokens: 48 }], [{ key, value: f16Tensor(rows, [48, 2, dim]) }]);
    cache.truncate(sequence, 45);
    const { value } = await cache.materialize(sequence, 0);
    let exact = 0;
    for (let token = 0; token < 45; token++) {
      for (const head of [0, 1]) {
        for (let channel = 0; channel < dim; channel++) {
          const decoded = value.data[(token * 2 + head) * dim + channel] as number;
          if (decoded < 100) expect(Math.abs(decoded)).toBeLessThan(3);
          else {
            expect(large(token, head)).toContain(channel);
            const i = large(token, head).lastIndexOf(channel);
            expect(decoded).toBe(128 + (token + i) / 8);
            exact++;
          }
        }
      }
    }
    expect(exact).toBeGreaterThan(45 * 2 * 1.9);
  });
});

it('an infinite value is no outlier: the largest finite one is', () => {
  const key = planOf(withTop(FOUR_BIT, 1), 16, 1).layers[0]!.key as PackedTensorPlan;
  const tokens = new Uint16Array(16).fill(0x3c00);
  tokens[5] = 0xc200;
  tokens[9] = 0xfc00;
  const page = new Uint8Array(key.layout.pageBytes);
  encodeTokens(key, tokens, 1, null, page, 0);
  const { values, channels } = key.layout.top!;
  expect([page[channels.offset], ...page.subarray(values.offset, values.offset + 2)]).toEqual([
    5, 0x00, 0xc2,
  ]);
});
