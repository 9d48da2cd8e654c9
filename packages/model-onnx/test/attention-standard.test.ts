import { describe, expect, it } from 'vitest';
import { expectCutEqualsWhole, openTiny, refusalOf, sitesOf } from './support/cut-and-whole.js';
import { type TinyOptions, tinyDecoder } from './support/tiny-decoders.js';
import { WINDOW } from './support/tiny-masks.js';
import { type StandardOptions, standardAttention } from './support/tiny-standard.js';

const tiny = (options: StandardOptions = {}, more: TinyOptions = {}) =>
  tinyDecoder(standardAttention(options), { opset: 23, ...more });

it('takes rows, the past and what the operator says of itself', () => {
  expect(sitesOf(tiny())).toEqual(
    [0, 1].map((layer) => ({
      form: 'Attention',
      node: `attention_${layer}`,
      query: { name: `query_${layer}_out`, layout: 'rows' },
      key: { name: `key_${layer}_out`, layout: 'rows' },
      value: { name: `value_${layer}_out`, layout: 'rows' },
      output: { name: `attended_${layer}`, layout: 'rows' },
      elementType: 'float32',
      geometry: {
        ...{ queryHeads: 4, kvHeads: 2, keyHeadDim: 16, valueHeadDim: 16 },
        ...{ scale: 0.25, softCap: null, window: null },
      },
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

it('takes heads of four dimensions, scale, soft cap, mask and element type', () => {
  const [site] = sitesOf(
    tiny(
      {
        inputs: 'heads-first',
        mask: { sight: 'causal', kind: 'boolean' },
        attributes: { softcap: { float: 2 }, scale: { float: 0.4 } },
      },
      { elementType: 'float16', opset: 24 },
    ),
  );
  expect(site).toMatchObject({
    query: { layout: 'headsFirst' },
    key: { layout: 'headsFirst' },
    value: { layout: 'headsFirst' },
    output: { name: 'attended_0', layout: 'headsFirst' },
    elementType: 'float16',
    geometry: { queryHeads: 4, kvHeads: 2, keyHeadDim: 16, valueHeadDim: 16, softCap: 2 },
    causal: false,
    masks: [{ kind: 'boolean' }],
  });
  expect(site?.geometry.scale).toBeCloseTo(0.4, 6);
  const [added] = sitesOf(tiny({ mask: { sight: 'causal', kind: 'added' } }));
  expect(added?.masks).toEqual([{ name: expect.any(String), kind: 'added' }]);
});

it('owns a rotary embedding of tables, and reads before it', () => {
  for (const inputs of ['rows', 'heads-first'] as const) {
    const [site] = sitesOf(tiny({ rotary: 'adjacent', inputs }));
    expect(site?.rotary).toEqual({ cosine: 'cos_cache', sine: 'sin_cache', pairs: 'adjacent' });
    expect(site?.query.name).not.toMatch(/^RotaryEmbedding/);
    expect(site?.key.name).not.toMatch(/^RotaryEmbedding/);
  }
});

describe('cut equals whole, in f32 and f16, operator sets 23 and 24', () => {
  const own = { softcap: { float: 2 }, scale: { float: 0.4 } };
  const forms: Readonly<Record<string, readonly [StandardOptions, TinyOptions?]>> = {
    rows: [{}],
    'heads first': [{ inputs: 'heads-first' }],
    'rotary of halves': [{ rotary: 'halves' }],
    'rotary of neighbours, heads first': [{ rotary: 'adjacent', inputs: 'heads-first' }],
    'part of a head turned': [{ rotary: 'halves' }, { sizes: { rotaryDim: 8 } }],
    'scale and soft cap': [{ attributes: own }],
    'an added mask': [{ mask: { sight: 'causal', kind: 'added' } }],
    'an added mask of a window': [{ mask: { sight: 'window', kind: 'added' } }],
    'a boolean mask': [{ inputs: 'heads-first', mask: { sight: 'causal', kind: 'boolean' } }],
    'a boolean mask of a window': [{ mask: { sight: 'window', kind: 'boolean' } }],
    'soft cap and added mask': [{ attributes: own, mask: { sight: 'causal', kind: 'added' } }],
    'soft cap and boolean mask': [{ attributes: own, mask: { sight: 'causal', kind: 'boolean' } }],
    'causal itself, and a mask that hides nothing': [
      { attributes: { is_causal: 1 }, mask: { sight: 'bidirectional', kind: 'boolean' } },
    ],
    'no past': [{ past: false }],
    'no past, a mask': [{ past: false, mask: { sight: 'causal', kind: 'added' } }],
    'one kv head': [{}, { sizes: { kvHeads: 1 } }],
  };
  it.each(Object.entries(forms))('%s', async (_name, [options, more]) => {
    await expectCutEqualsWhole(tiny(options, more));
    await expectCutEqualsWhole(tiny(options, { ...more, elementType: 'float16', opset: 24 }));
  });

  it('finds the window of a mask', async () => {
    const cut = await openTiny(tiny({ mask: { sight: 'window', kind: 'boolean' } }));
    expect(cut.layers.map(({ geometry }) => geometry.slidingWindow?.size)).toEqual([
      WINDOW,
      WINDOW,
    ]);
    await cut.dispose();
  });
});

describe('refuses', () => {
  const forms: Readonly<Record<string, readonly [StandardOptions, RegExp]>> = {
    'no causality': [{ attributes: { is_causal: 0 } }, /bidirectional/],
    'keys of other tokens': [{ cross: true, past: false }, /encoder_states.*cross attention/],
    'a buffer of keys': [{ lengths: true }, /nonpad_kv_seqlen/],
    'weights as a result': [{ weights: true }, /gives out its logits or weights/],
    'a past made in the graph': [{ past: 'computed' }, /past is no input/],
    'an attribute of the future': [{ attributes: { sparsity: 1 } }, /not known: sparsity/],
  };
  it.each(Object.entries(forms))('%s', (_name, [options, reason]) => {
    const refusal = refusalOf(tiny(options, { opset: 24 }));
    expect(refusal).toMatch(reason);
    expect(refusal).toMatch(/MODEL_UNSUPPORTED.*Attention: .*\(attention_0[ )]/);
    expect(refusal).toContain('--attention past-injection');
  });
});
