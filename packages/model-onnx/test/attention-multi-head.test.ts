import type { NodeProto } from 'onnx-buf';
import { describe, expect, it } from 'vitest';
import { expectCutEqualsWhole, refusalOf, sitesOf } from './support/cut-and-whole.js';
import { tinyDecoder, withNode } from './support/tiny-decoders.js';
import { type MultiHeadOptions, multiHead } from './support/tiny-multi-head.js';

const SIZES = { kvHeads: 4 };
const tiny = (options: MultiHeadOptions, elementType: 'float32' | 'float16' = 'float32') =>
  tinyDecoder(multiHead(options), { sizes: SIZES, elementType });
const geometry = { queryHeads: 4, kvHeads: 4, keyHeadDim: 16, valueHeadDim: 16, scale: 0.25 };

it('takes rows, the past and what the operator says of itself', () => {
  expect(sitesOf(tiny({}))).toEqual(
    [0, 1].map((layer) => ({
      form: 'MultiHeadAttention',
      node: `attention_${layer}`,
      query: { name: `query_${layer}_out`, layout: 'rows' },
      key: { name: `key_${layer}_out`, layout: 'rows' },
      value: { name: `value_${layer}_out`, layout: 'rows' },
      output: { name: `attended_${layer}`, layout: 'rows' },
      elementType: 'float32',
      geometry: { ...geometry, softCap: null, window: null },
      rotary: null,
      causal: true,
      masks: [],
      past: {
        inputs: [`past_key_values.${layer}.key`, `past_key_values.${layer}.value`],
        outputs: [`present.${layer}.key`, `present.${layer}.value`],
      },
    })),
  );
});

it('finds scale, mask and element type', () => {
  const [site] = sitesOf(tiny({ scale: 0.3, mask: 'causal' }, 'float16'));
  expect(site?.geometry.scale).toBeCloseTo(0.3, 6);
  expect(site?.elementType).toBe('float16');
  expect(site?.masks).toEqual([{ name: expect.any(String), kind: 'added' }]);
});

it('owns a rotary embedding of tables, and reads before it', () => {
  for (const pairs of ['halves', 'adjacent'] as const) {
    const [site] = sitesOf(tiny({ rotary: pairs }));
    expect(site?.rotary).toEqual({ cosine: 'cos_cache', sine: 'sin_cache', pairs });
    expect([site?.query.name, site?.key.name]).toEqual(['query_0_out', 'key_0_out']);
  }
});

it('takes queries, keys and values out of a packed projection', () => {
  const [packed] = sitesOf(tiny({ inputs: 'packed', past: false, bias: true }));
  const name = expect.stringMatching(/^Reshape/);
  const bias = (first: number) => ({ name: 'qkv_bias_0', first, count: 64 });
  expect(packed).toMatchObject({
    query: { name, layout: 'parts', part: 0, bias: bias(0) },
    key: { name, layout: 'parts', part: 1, bias: bias(64) },
    value: { name, layout: 'parts', part: 2, bias: bias(128) },
    geometry,
  });
  const [pair] = sitesOf(tiny({ inputs: 'packed-kv', past: false }));
  expect(pair).toMatchObject({
    query: { name: 'query_0_out', layout: 'rows' },
    key: { layout: 'parts', part: 0 },
    value: { layout: 'parts', part: 1 },
    geometry,
  });
});

it('takes keys and values that come heads first', () => {
  const [site] = sitesOf(tiny({ inputs: 'heads-first' }));
  expect(site).toMatchObject({
    query: { layout: 'rows' },
    key: { layout: 'headsFirst' },
    value: { layout: 'headsFirst' },
    geometry,
  });
});

describe('refuses, with the node and the reason', () => {
  const cases: Readonly<Record<string, readonly [MultiHeadOptions, RegExp]>> = {
    'no causality': [{ unidirectional: false }, /bidirectional/],
    'a bias on keys that come heads first': [{ inputs: 'heads-first', bias: true }, /bias/],
    'masks that hide in part': [{ maskValue: -5 }, /hide only in part/],
    'keys of other tokens': [{ cross: true }, /encoder_states.*cross attention/],
    'a past made in the graph': [{ past: 'computed' }, /past is no input/],
  };
  it.each(Object.entries(cases))('%s', (_, [options, reason]) => {
    expect(() => sitesOf(tiny(options))).toThrow(reason);
    expect(() => sitesOf(tiny(options))).toThrow(
      /^MODEL_UNSUPPORTED.*MultiHeadAttention.*\(attention_0[ )]/,
    );
  });
});

it('refuses inputs and results that only some exports have', () => {
  const cases: readonly (readonly [(node: NodeProto) => void, RegExp])[] = [
    [({ input }) => set(input, 3, 'query_0_out'), /its bias is computed/],
    [({ input }) => set(input, 4, 'norm_0_weight'), /padding mask is not the attention_mask/],
    [({ input }) => set(input, 8, 'norm_0_weight'), /a buffer that the operator writes/],
    [({ input }) => set(input, 10, 'norm_0_weight'), /an input that is not known, number 10/],
    [({ output }) => set(output, 3, 'weights'), /gives out its attention weights/],
  ];
  for (const [change, reason] of cases) {
    const refusal = refusalOf(withNode(tiny({}), 'attention_0', change));
    expect(refusal).toMatch(reason);
    expect(refusal).toContain('(attention_0)');
  }

  function set(names: string[], at: number, name: string): void {
    while (names.length < at) names.push('');
    names[at] = name;
  }
});

describe('cut decoders equal whole ones', () => {
  const cases: Readonly<Record<string, MultiHeadOptions>> = {
    plain: {},
    'rotary of halves': { rotary: 'halves' },
    'rotary of neighbours': { rotary: 'adjacent' },
    'bias and scale': { bias: true, scale: 0.3 },
    'a causal mask': { mask: 'causal' },
    'a mask of a window': { mask: 'window' },
    'causal itself, and a mask that hides nothing': { unidirectional: true, mask: 'bidirectional' },
    'padding mask': { padding: true },
    'keys heads first': { inputs: 'heads-first' },
    'no past': { past: false },
  };
  it.each(Object.entries(cases))('%s', async (_, options) => {
    await expectCutEqualsWhole(tiny(options));
    await expectCutEqualsWhole(tiny(options, 'float16'));
  });

  it.each(['float32', 'float16'] as const)(
    'packed, against rows of the same projection: %s',
    async (type) => {
      for (const bias of [false, true])
        await expectCutEqualsWhole(
          tiny({ inputs: 'packed', past: false, bias }, type),
          tiny({ inputs: 'unpacked', past: false, bias }, type),
        );
      await expectCutEqualsWhole(
        tiny({ inputs: 'packed-kv', past: false }, type),
        tiny({ inputs: 'unpacked-kv', past: false }, type),
      );
    },
  );
});
