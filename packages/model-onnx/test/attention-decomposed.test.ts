import { describe, expect, it } from 'vitest';
import { expectCutEqualsWhole, openTiny, refusalOf, sitesOf } from './support/cut-and-whole.js';
import { type TinyOptions, tinyDecoder } from './support/tiny-decoders.js';
import { type DecomposedOptions, decomposed } from './support/tiny-decomposed.js';

const tiny = (options: DecomposedOptions = {}, more: TinyOptions = {}) =>
  tinyDecoder(decomposed(options), more);

it('takes heads from the Concat with the past on, and what is done to logits', () => {
  const sites = sitesOf(tiny());
  expect(sites).toEqual(
    [0, 1].map((layer) => ({
      form: 'Concat + MatMul + Softmax + MatMul',
      node: `softmax_${layer}`,
      query: { name: expect.stringMatching(/^Transpose/), layout: 'headsFirst' },
      key: { name: expect.stringMatching(/^Transpose/), layout: 'headsFirst' },
      value: { name: expect.stringMatching(/^Transpose/), layout: 'headsFirst' },
      output: { name: `weighted_${layer}_out`, layout: 'headsFirst' },
      elementType: 'float32',
      geometry: {
        ...{ queryHeads: 4, kvHeads: 2, keyHeadDim: 16, valueHeadDim: 16 },
        ...{ scale: expect.closeTo(0.25, 6), softCap: null, window: null },
      },
      rotary: null,
      causal: false,
      masks: [{ name: expect.any(String), kind: 'added' }],
      past: {
        inputs: [`past_key_values.${layer}.key`, `past_key_values.${layer}.value`],
        outputs: [`present.${layer}.key`, `present.${layer}.value`],
      },
    })),
  );
});

it('finds scale and soft cap wherever they are', () => {
  for (const scale of ['product', 'divided', 'query', 'key-before-cache', 'key'] as const) {
    const [site] = sitesOf(tiny({ scale, scaleBy: 0.5, softCap: 3 }));
    const beforeCut = scale === 'query' || scale === 'key-before-cache';
    expect(site?.geometry.scale).toBeCloseTo(beforeCut ? 1 : 0.5, 6);
    expect(site?.geometry.softCap).toBeCloseTo(3, 6);
  }
});

it('finds masks that are added, and boolean ones of what is seen and what is hidden', () => {
  const kinds = (mask: NonNullable<DecomposedOptions['mask']>) =>
    sitesOf(tiny({ mask }))[0]?.masks.map(({ kind }) => kind);
  expect(kinds('added-padding')).toEqual(['added']);
  expect(kinds('where-seen')).toEqual(['boolean']);
  expect(kinds('where-hidden')).toEqual(['hidden']);
  expect(kinds('seen-and-padding')).toEqual(['boolean', 'added']);
});

it('owns a rotary embedding of nodes, and leaves one of single operators in the graph', () => {
  const [node] = sitesOf(tiny({ heads: 'rotary-node' }));
  expect(node?.rotary).toEqual({ cosine: 'cos_cache', sine: 'sin_cache', pairs: 'halves' });
  const [single] = sitesOf(tiny({ heads: 'rotary' }));
  expect(single?.rotary).toBeNull();
  expect(single?.query.name).toMatch(/^Add/);
});

describe('cut equals whole, in f32 and f16', () => {
  const ofMask = { pastLength: 'attention_mask' } as const;
  const equal = { sizes: { kvHeads: 4 } };
  const forms: Readonly<Record<string, readonly [DecomposedOptions, TinyOptions?]>> = {
    'repeated kv heads': [{}],
    'as many kv heads as query heads': [{}, equal],
    'one kv head': [{}, { sizes: { kvHeads: 1 } }],
    'repeated by Tile, padding in the mask': [{ repeat: 'tile', mask: 'added-padding', ...ofMask }],
    'repeated by Gather, split projection': [{ repeat: 'gather', heads: 'split' }],
    'rotary by single operators, scaled query': [{ heads: 'rotary', scale: 'query' }],
    'rotary by a node, scaled by roots from shapes, guarded': [
      { heads: 'rotary-node', scale: 'roots', guarded: true },
    ],
    'divided, causality and padding apart': [{ scale: 'divided', mask: 'seen-and-padding' }],
    'a mask that every layer cuts': [
      { maskPerLayer: true, heads: 'rotary', mask: 'added-padding' },
    ],
    'Where of what is seen, softmax in f32': [{ mask: 'where-seen', inFloat32: 'softmax' }],
    'product in f32, repeated from full slices': [{ inFloat32: 'product', repeat: 'sliced' }],
    'Where of what is hidden, soft cap': [{ mask: 'where-hidden', softCap: 1.5 }],
    'a window': [{ sight: 'window' }],
    'cached keys channels first, scaled': [
      { cache: 'channels-first', scale: 'key', scaleBy: 0.4, ...ofMask },
      equal,
    ],
    'a cache of tokens first, of scaled keys': [
      { cache: 'tokens-first', scale: 'key-before-cache', scaleBy: 0.4, ...ofMask },
    ],
    'no scale': [{ scale: 'none' }],
    'no past': [{ cache: 'none', mask: 'where-seen' }],
  };
  it.each(Object.entries(forms))('%s', async (_name, [options, more]) => {
    await expectCutEqualsWhole(tiny(options, more));
    await expectCutEqualsWhole(tiny(options, { ...more, elementType: 'float16' }));
  });

  it('a soft cap, and layers that differ in their window, as Gemma 2', async () => {
    const mixed = tinyDecoder((context) =>
      decomposed({
        sight: context.layer === 0 ? 'window' : 'causal',
        ...{ softCap: 2, scale: 'query', scaleBy: 0.4, heads: 'rotary' },
      })(context),
    );
    await expectCutEqualsWhole(mixed);
    const cut = await openTiny(mixed);
    expect(cut.layers.map(({ geometry }) => geometry.slidingWindow?.size)).toEqual([5, undefined]);
    await cut.dispose();
  });
});

describe('refuses', () => {
  const forms: Readonly<Record<string, readonly [DecomposedOptions, RegExp]>> = {
    'no mask': [{ mask: 'none' }, /no mask is applied/],
    'keys of other tokens': [{ cross: true, cache: 'none' }, /encoder_states.*cross attention/],
    'a sink beside the tokens': [{ odd: 'sink' }, /between its Softmax and its products/],
    'a soft cap after the mask': [{ odd: 'late-cap' }, /after a mask/],
    'weights as a result': [{ odd: 'weights' }, /gives out its attention weights/],
    'a past made in the graph': [{ odd: 'computed-past' }, /not a past of the model/],
  };
  it.each(Object.entries(forms))('%s', (_name, [options, reason]) => {
    const refusal = refusalOf(tiny(options));
    expect(refusal).toMatch(reason);
    expect(refusal).toMatch(/MODEL_UNSUPPORTED.*MatMul \+ Softmax \+ MatMul: .*\(\w+_\d+[ )]/);
    expect(refusal).toContain('--attention past-injection');
  });
});
