import { LowbitKvError } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { expectCutEqualsWhole, sitesOf } from './support/cut-and-whole.js';
import { type TinyOptions, tinyDecoder } from './support/tiny-decoders.js';
import { type GroupQueryOptions, groupQuery } from './support/tiny-group-query.js';

const tiny = (options: GroupQueryOptions = {}, more: TinyOptions = {}) =>
  tinyDecoder(groupQuery(options), more);
const [HALVES, ADJACENT] = (['halves', 'adjacent'] as const).map((pairs) => ({
  cosine: 'cos_cache',
  sine: 'sin_cache',
  pairs,
}));

it('takes rows, the past, tables and numbers', () => {
  const [first, second] = sitesOf(tiny({ softCap: 2, window: 5, scale: 0.3 }));
  expect(first).toEqual({
    form: 'GroupQueryAttention',
    node: 'attention_0',
    query: { name: 'query_0_out', layout: 'rows' },
    key: { name: 'key_0_out', layout: 'rows' },
    value: { name: 'value_0_out', layout: 'rows' },
    output: { name: 'attended_0', layout: 'rows' },
    elementType: 'float32',
    geometry: {
      queryHeads: 4,
      kvHeads: 2,
      keyHeadDim: 16,
      valueHeadDim: 16,
      scale: expect.closeTo(0.3, 6),
      softCap: 2,
      window: 5,
    },
    rotary: HALVES,
    masks: [],
    past: {
      inputs: ['past_key_values.0.key', 'past_key_values.0.value'],
      outputs: ['present.0.key', 'present.0.value'],
    },
  });
  expect(second?.node).toBe('attention_1');
});

it('has 1 / sqrt(head dim) for no scale, and no cap and no window', () => {
  const [site] = sitesOf(tiny({}, { elementType: 'float16' }));
  expect(site?.geometry).toMatchObject({ scale: 0.25, softCap: null, window: null });
  expect(site?.elementType).toBe('float16');
});

it('finds queries, keys and values in one packed value', () => {
  const [site] = sitesOf(tiny({ packed: true }));
  const part = (first: number, count: number) => ({
    name: 'qkv_0_out',
    layout: 'rows',
    channels: { first, count },
  });
  expect([site?.query, site?.key, site?.value]).toEqual([part(0, 64), part(64, 32), part(96, 32)]);
});

it('owns an embedding before the operator when both have the same', () => {
  const [site] = sitesOf(tiny({ rotary: 'node', pairs: 'adjacent' }));
  expect(site?.rotary).toEqual(ADJACENT);
  expect([site?.query.name, site?.key.name]).toEqual(['query_0_out', 'key_0_out']);
  const [standard] = sitesOf(tiny({ rotary: 'standard-node' }, { opset: 23 }));
  expect(standard?.rotary).toEqual(HALVES);
});

it('leaves an embedding in the graph when its tables are computed', () => {
  const [site] = sitesOf(tiny({ rotary: 'node', tables: 'computed' }));
  expect(site?.rotary).toBeNull();
  expect(site?.query.name).toMatch(/^RotaryEmbedding/);
});

describe('cut equals whole', () => {
  const forms: Record<string, [GroupQueryOptions, TinyOptions?]> = {
    'embedding inside': [{}],
    'adjacent pairs inside': [{ pairs: 'adjacent' }],
    'no embedding': [{ rotary: 'none' }],
    'embedding before': [{ rotary: 'node' }],
    'adjacent pairs before': [{ rotary: 'node', pairs: 'adjacent' }],
    'standard embedding before': [{ rotary: 'standard-node' }, { opset: 23 }],
    'embedding of computed tables before': [{ rotary: 'node', tables: 'computed' }],
    packed: [{ packed: true }],
    'scale and soft cap': [{ scale: 0.7, softCap: 1.5 }],
    window: [{ window: 5 }],
    'head dim 32': [{}, { sizes: { headDim: 32 } }],
    f16: [{}, { elementType: 'float16' }],
    'f16, packed, adjacent': [{ packed: true, pairs: 'adjacent' }, { elementType: 'float16' }],
  };
  it.each(Object.entries(forms))('%s', async (_name, [options, more]) => {
    await expectCutEqualsWhole(tiny(options, more));
  });
});

describe('refuses', () => {
  const extra =
    (count: number) =>
    ({ graph, sizes }: Parameters<NonNullable<GroupQueryOptions['moreInputs']>>[0]) => [
      ...Array<string>(count).fill(''),
      graph.table(`extra_${Math.random()}`, [sizes.queryHeads], Array(sizes.queryHeads).fill(0.5)),
    ];
  const forms: Record<string, [GroupQueryOptions, RegExp]> = {
    'an attention bias': [{ moreInputs: extra(1) }, /attention bias/],
    'a sink per head': [{ moreInputs: extra(2) }, /sink/],
    'scales of a quantized cache': [{ moreInputs: extra(3) }, /quantized/],
    'a quantized cache': [{ attributes: { k_quant_type: 'PER_TENSOR' } }, /quantized/],
    'a smooth softmax': [{ attributes: { smooth_softmax: 1 } }, /smooth softmax/],
    'computed tables': [{ tables: 'computed' }, /computed, not initializers/],
    'a past that is no input': [{ pastFrom: 'node' }, /past is no input of the model/],
  };
  it.each(Object.entries(forms))('%s', (_name, [options, reason]) => {
    const decoder = tiny(options);
    expect(() => sitesOf(decoder)).toThrow(reason);
    try {
      sitesOf(decoder);
    } catch (error) {
      expect(LowbitKvError.is(error, 'MODEL_UNSUPPORTED')).toBe(true);
      expect(String(error)).toContain('attention_0 and 1 more');
      expect(String(error)).toContain('past-injection');
    }
  });
});
