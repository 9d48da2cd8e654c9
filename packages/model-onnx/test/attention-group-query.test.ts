import { describe, expect, it } from 'vitest';
import { expectCutEqualsWhole, openTiny, refusalOf, sitesOf } from './support/cut-and-whole.js';
import { FloatCache } from './support/float-cache.js';
import {
  type LayerContext,
  positionIds,
  type TinyOptions,
  tinyDecoder,
  withNode,
} from './support/tiny-decoders.js';
import { type GroupQueryOptions, groupQuery, LONG_CONTEXT } from './support/tiny-group-query.js';
import { addedMask } from './support/tiny-masks.js';

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
    causal: true,
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

it('leaves an embedding in the graph when queries and keys have different ones', () => {
  const [site] = sitesOf(tiny({ rotary: 'node', keyBase: 30 }));
  expect(site?.rotary).toBeNull();
});

it('leaves an embedding in the graph when its tables are computed', () => {
  const [site] = sitesOf(tiny({ rotary: 'node', tables: 'computed' }));
  expect(site?.rotary).toBeNull();
  expect(site?.query.name).toMatch(/^RotaryEmbedding/);
});

it('has the short tables where an If chooses by the length, and no longer context', async () => {
  const decoder = tiny({ tables: 'by-length' }, { sizes: { positions: 128 } });
  expect(sitesOf(decoder)[0]?.rotary).toMatchObject({ cosine: 'chosen_cosine' });
  const cut = await openTiny(decoder);
  expect(cut.contextLimit).toBe(LONG_CONTEXT);
  const tokens = Array<number>(LONG_CONTEXT + 1).fill(3);
  const attend = new FloatCache(cut).attend;
  await expect(cut.forward(tokens, { position: 0, attend })).rejects.toThrow(
    /more tokens than the context of the model has; got 41; valid: at most 40/,
  );
  await cut.dispose();
});

describe('cut equals whole, in f32 and f16', () => {
  const forms: Record<string, [GroupQueryOptions, TinyOptions?]> = {
    'embedding inside': [{}],
    'adjacent pairs inside': [{ pairs: 'adjacent' }],
    'positions as an input': [{ moreInputs: ({ graph }) => [positionIds(graph)] }],
    'no embedding': [{ rotary: 'none' }],
    'embedding before': [{ rotary: 'node' }],
    'adjacent pairs before': [{ rotary: 'node', pairs: 'adjacent' }],
    'standard embedding before': [{ rotary: 'standard-node' }, { opset: 23 }],
    'embeddings of two bases before': [{ rotary: 'node', keyBase: 30 }],
    'embedding of computed tables before': [{ rotary: 'node', tables: 'computed' }],
    'tables by length': [{ tables: 'by-length' }],
    'part of a head turned inside': [{}, { sizes: { headDim: 32, rotaryDim: 16 } }],
    'part of a head turned before': [{ rotary: 'node' }, { sizes: { rotaryDim: 8 } }],
    'part of a head turned by the standard operator': [
      { rotary: 'standard-node', pairs: 'adjacent' },
      { opset: 23, sizes: { rotaryDim: 8 } },
    ],
    packed: [{ packed: true }],
    'packed, adjacent pairs, biases': [{ packed: true, pairs: 'adjacent', bias: true }],
    biases: [{ bias: true }],
    'packed, a window, part of a head, tables by length, as Phi-3': [
      { packed: true, window: 7, tables: 'by-length' },
      { sizes: { headDim: 32, rotaryDim: 16, kvHeads: 4 } },
    ],
    'an attention bias that is a mask': [
      { moreInputs: (context) => ['', addedMask(context, 'window', 'past')] },
    ],
    'scale and soft cap': [{ scale: 0.7, softCap: 1.5 }],
    window: [{ window: 5 }],
    'head dim 32, one kv head': [{}, { sizes: { headDim: 32, kvHeads: 1 } }],
  };
  it.each(Object.entries(forms))('%s', async (_name, [options, more]) => {
    await expectCutEqualsWhole(tiny(options, more));
    await expectCutEqualsWhole(tiny(options, { ...more, elementType: 'float16' }));
  });

  it('layers that differ in window, soft cap and embedding', async () => {
    const layers: readonly GroupQueryOptions[] = [
      { window: 4, softCap: 2 },
      { rotary: 'none', scale: 0.4 },
      { pairs: 'adjacent' },
    ];
    const mixed = tinyDecoder((context) => groupQuery(layers[context.layer])(context), {
      sizes: { layers: 3 },
    });
    await expectCutEqualsWhole(mixed);
    const cut = await openTiny(mixed);
    expect(cut.layers.map(({ geometry }) => geometry.slidingWindow)).toEqual([
      { size: 4, sinks: 0 },
      null,
      null,
    ]);
    expect(cut.layers.map(({ geometry }) => geometry.rotary?.pairs)).toEqual([
      'halves',
      undefined,
      'adjacent',
    ]);
    await cut.dispose();
  });
});

describe('refuses', () => {
  const input =
    (number: number) =>
    ({ graph, sizes, layer }: LayerContext) => [
      ...Array<string>(number - 9).fill(''),
      graph.table(`input_${layer}`, [sizes.queryHeads], Array(sizes.queryHeads).fill(0.5)),
    ];
  const forms: Record<string, [GroupQueryOptions, RegExp]> = {
    'a sink per head': [{ moreInputs: input(11) }, /sink/],
    'scales of a quantized cache': [{ moreInputs: input(12) }, /quantized/],
    'norms of queries and keys': [{ moreInputs: input(14) }, /input that is not known, number 14/],
    'a quantized cache': [{ attributes: { k_quant_type: 'PER_TENSOR' } }, /quantized/],
    'a smooth softmax': [{ attributes: { smooth_softmax: 1 } }, /smooth softmax/],
    'an attribute of the future': [{ attributes: { sparsity: 1 } }, /not known: sparsity/],
    'computed tables': [{ tables: 'computed' }, /tables of its rotary embedding are computed/],
    'computed positions': [
      { moreInputs: ({ graph }) => [graph.node('Abs', [positionIds(graph)])] },
      /positions of its rotary embedding are computed/,
    ],
    'a past that is no input': [{ pastFrom: 'node' }, /past is no input of the model/],
  };
  it('an attention bias that is no mask', async () => {
    const slopes = tiny({ moreInputs: (context) => ['', addedMask(context, 'alibi', 'past')] });
    await expect(openTiny(slopes)).rejects.toThrow(
      /MODEL_UNSUPPORTED.*GroupQueryAttention: its mask adds -0\.5.*attention_0 and 1 more/,
    );
  });

  it('heads whose number is no size', () => {
    const odd = withNode(tiny(), 'attention_1', ({ attribute }) => {
      for (const one of attribute) if (one.name === 'kv_num_heads') one.i = -1n;
    });
    expect(refusalOf(odd)).toMatch(/attention_1/);
  });

  it('keys without values', () => {
    const half = withNode(tiny(), 'attention_1', ({ input }) => {
      input[2] = '';
    });
    expect(refusalOf(half)).toMatch(/only one of keys and values \(attention_1\)/);
  });

  it.each(Object.entries(forms))('%s', (_name, [options, reason]) => {
    const refusal = refusalOf(tiny(options));
    expect(refusal).toMatch(reason);
    expect(refusal).toContain('GroupQueryAttention');
    expect(refusal).toContain('attention_0 and 1 more');
    expect(refusal).toContain('--attention past-injection');
  });
});
