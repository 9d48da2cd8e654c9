// Which kernel a plan takes, and the words where it takes none.
import { readFileSync } from 'node:fs';
import {
  createPlan,
  type Geometry,
  type PackedTensorPlan,
  type Plan,
  type QuantizedTensorScheme,
  type TensorScheme,
} from '@lowbit-kv/core';
import {
  asymmetric,
  bands,
  hybrid,
  inlineCalibration,
  inlineScheme,
  offsetLevelTable,
  symmetric,
  withTop,
} from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import {
  chooseInstance,
  choosePackInstance,
  chooseRowsInstances,
  queriesOfBlock,
} from '../src/choose-instance.js';
import {
  BAND_INSTANCES,
  INSTANCES,
  PACK_INSTANCES,
  ROWS_INSTANCES,
  type TensorInstance,
} from '../src/instances.js';
import { kernelsOf } from '../src/support.js';
import { bandsTable, instanceTable, rowsTable } from './support/instance-table.js';
import { FACTORS } from './support/pack/instances.js';

const GEOMETRY: Geometry = {
  layers: 1,
  queryHeads: 8,
  kvHeads: 2,
  keyHeadDim: 128,
  valueHeadDim: 128,
};

function planOf(
  key: TensorScheme,
  value: TensorScheme,
  geometry: Partial<Geometry> = {},
  blockTokens = 128,
) {
  const scheme = inlineScheme({ key, value });
  const shape = { ...GEOMETRY, ...geometry };
  return createPlan(scheme, shape, { blockTokens });
}

/** Kernels of the layers, or why there are none. */
function supportOf({ layers }: Plan) {
  const choices = layers.map(chooseInstance);
  const reasons = choices.flatMap((choice) =>
    choice.instance === undefined ? choice.reasons : [],
  );
  return reasons.length === 0
    ? { kind: 'native', kernels: choices.map(({ instance }) => instance?.name) }
    : { kind: 'refused', reasons: [...new Set(reasons)] };
}

it('docs/instances.md shows every instance', () => {
  const text = readFileSync(new URL('../docs/instances.md', import.meta.url), 'utf8');
  expect(text.slice(text.indexOf('| kernel |'))).toBe(`${instanceTable()}\n`);
  for (const table of [bandsTable(), rowsTable()]) expect(text).toContain(`\n\n${table}\n\n`);
});

it('names are unique', () => {
  expect(new Set(INSTANCES.map(({ name }) => name)).size).toBe(INSTANCES.length);
});

/** A scheme that an instance is for. */
function schemeOf({ bits, along, groupSize, hasZero, isHybrid }: TensorInstance): TensorScheme {
  if (isHybrid) return hybrid(bits, 'full', bits, 'symmetric', along, groupSize);
  if (hasZero) return asymmetric(bits, along, groupSize);
  return symmetric(bits, 'signmag', along, groupSize);
}

describe('every instance is chosen by the plan it is for', () => {
  it.each(INSTANCES.map((instance) => [instance.name, instance] as const))('%s', (name, own) => {
    const { key, value, headDim, blockHeads } = own;
    const plan = planOf(schemeOf(key), schemeOf(value), {
      queryHeads: 2 * blockHeads,
      keyHeadDim: headDim,
      valueHeadDim: headDim,
    });
    expect(supportOf(plan)).toEqual({ kind: 'native', kernels: [name] });
    expect(chooseInstance(plan.layers[0]!)).toEqual({ instance: own });
    for (const tensor of ['key', 'value'] as const) {
      const packing = choosePackInstance(plan.layers[0]![tensor] as PackedTensorPlan);
      expect(packing).toMatchObject({ tensor, shape: own[tensor], headDim });
      expect(PACK_INSTANCES).toContain(packing);
    }
  });
});

describe('query heads of a kv head', () => {
  const wide = [asymmetric(4, 'tokens', 128), asymmetric(4, 'channels', 128)] as const;
  const narrow = [asymmetric(4, 'channels', 128), asymmetric(4, 'channels', 128)] as const;
  it.each([
    [1, wide, 4],
    [4, wide, 4],
    [5, wide, 8],
    [16, wide, 8],
    [3, narrow, 4],
    [16, narrow, 4],
  ])('%i', (heads, [key, value], blockHeads) => {
    const { instance } = chooseInstance(planOf(key, value, { queryHeads: 2 * heads }).layers[0]!);
    expect(instance?.blockHeads).toBe(blockHeads);
  });
});

describe('several query tokens', () => {
  const key = asymmetric(4, 'tokens', 128);
  const value = asymmetric(4, 'channels', 128);
  /** Kernels of the layer, and how many query tokens a block of each has room for. */
  const rowsOf = (...plan: Parameters<typeof planOf>) => {
    const [layer] = planOf(...plan).layers;
    return chooseRowsInstances(layer!).map((one) => [
      one.name,
      queriesOfBlock(one, layer!.geometry),
    ]);
  };
  const few = 'rows_k4t128z_v4c128z_d128_r16';
  const many = 'rows_k4t128z_v4c128z_d128_r32';

  it.each([
    [1, [16, 32]],
    [3, [5, 10]],
    [4, [4, 8]],
    [5, [3, 6]],
    [8, [2, 4]],
  ])('of %i heads', (heads, [first, second]) => {
    const found = rowsOf(key, value, { queryHeads: 2 * heads });
    expect(found).toEqual([
      [few, first],
      [many, second],
    ]);
  });

  it.each([
    [
      9,
      [
        [few, 1],
        [many, 3],
      ],
    ],
    [
      16,
      [
        [few, 1],
        [many, 2],
      ],
    ],
    [17, [[many, 1]]],
    [32, [[many, 1]]],
    [33, []],
  ])('of %i heads, more than kernels for one have: for one too, or for none', (heads, found) => {
    expect(rowsOf(key, value, { queryHeads: 2 * heads })).toEqual(found);
  });

  it('are met alone where there is no kernel, and with a sliding window', () => {
    expect(rowsOf(key, value, { slidingWindow: { size: 1000, sinks: 0 } })).toEqual([]);
    const around = symmetric(4, 'full', 'channels', 32);
    expect(rowsOf(around, symmetric(4, 'full', 'tokens', 32))).toEqual([]);
    expect(rowsOf(asymmetric(4, 'channels', 128), value)).toEqual([]);
    const dim = { keyHeadDim: 64, valueHeadDim: 64 };
    expect(rowsOf(asymmetric(4, 'tokens', 32), asymmetric(4, 'channels', 32), dim)).toEqual([]);
  });

  it('have kernels of layers that have one for a single query token', () => {
    for (const { name, key: keys, value: values, headDim } of ROWS_INSTANCES) {
      const single = INSTANCES.filter((one) => one.headDim === headDim);
      expect(single, name).toContainEqual(expect.objectContaining({ key: keys, value: values }));
    }
    expect(new Set(ROWS_INSTANCES.map(({ name }) => name)).size).toBe(12);
  });
});

describe('codes around zero', () => {
  const value = symmetric(3, 'full', 'tokens', 32);
  it.each([
    [
      'of three sets',
      symmetric(3, 'fullSigned', 'channels', 32),
      value,
      'attend_k3c32_v3t32_d128_h4',
    ],
    [
      'with factors of the sequence',
      { ...symmetric(3, 'full', 'channels', 32), transforms: [FACTORS] },
      value,
      'attend_k3c32_v3t32_d128_h4',
    ],
    [
      'beside hybrid values',
      symmetric(3, 'full', 'channels', 32),
      hybrid(2, 'signmag', 1, 'asymmetric', 'tokens', 32),
      'attend_k3c32_v2t32h_d128_h4',
    ],
    ['of whole vectors', vectorOf(8), vectorOf(8), 'attend_k8c128_v8c128_d128_h4'],
  ] as const)('%s', (_, key, other, name) => {
    expect(supportOf(planOf(key, other))).toEqual({ kind: 'native', kernels: [name] });
  });
});

function vectorOf(bits: 4 | 8): QuantizedTensorScheme {
  const groups = { along: 'vector', scope: 'head' } as const;
  return { ...symmetric(bits, 'signmag', 'channels', 128), groups };
}

it('layers take kernels of their own', () => {
  const scheme = {
    ...inlineScheme({
      key: asymmetric(2, 'tokens', 32),
      value: asymmetric(2, 'channels', 32),
    }),
    overrides: [
      { layers: [1], key: asymmetric(4, 'tokens', 64), value: asymmetric(4, 'channels', 64) },
    ],
  };
  const plan = createPlan(scheme, { ...GEOMETRY, layers: 2 }, { blockTokens: 128 });
  expect(supportOf(plan)).toEqual({
    kind: 'native',
    kernels: ['attend_k2t32z_v2c32z_d128_h4', 'attend_k4t64z_v4c64z_d128_h4'],
  });
});

describe('refusals say what has no kernel', () => {
  const key = asymmetric(4, 'tokens', 32);
  const value = asymmetric(4, 'channels', 32);
  const narrow = { keyHeadDim: 96, valueHeadDim: 96 };
  const wide = { keyHeadDim: 160, valueHeadDim: 160 };
  const rotary = { rotary: { pairs: 'halves' as const } };
  it.each([
    ['f16 keys', planOf({ bits: 16 }, value), ['key: f16 has no kernel of its own']],
    [
      '1 bit',
      planOf(key, asymmetric(1, 'channels', 32)),
      ['value: 1 bits have no kernel of their own (there is 2, 4, 3, 8)'],
    ],
    [
      '3 bits along channels',
      planOf(key, asymmetric(3, 'channels', 32)),
      [
        'keys of 4 bits in groups of 32 tokens with values of 3 bits in groups of 32 channels have no kernel of their own',
      ],
    ],
    [
      'the other axes',
      planOf(asymmetric(4, 'channels', 32), asymmetric(4, 'tokens', 32)),
      [
        'keys of 4 bits in groups of 32 channels with values of 4 bits in groups of 32 tokens have no kernel of their own',
      ],
    ],
    [
      'small groups',
      planOf(key, asymmetric(4, 'channels', 16)),
      ['value: groups of 16 have no kernel of their own (there is 32, 64, 128)'],
    ],
    [
      'symmetric codes',
      planOf(symmetric(4, 'signmag', 'tokens', 32), value),
      [
        'keys of 4 bits in groups of 32 tokens without zeros with values of 4 bits in groups of 32 channels have no kernel of their own',
      ],
    ],
    [
      'hybrid codes',
      planOf(key, hybrid(4, 'signmag', 4, 'symmetric', 'channels', 32)),
      [
        'keys of 4 bits in groups of 32 tokens with values of 4 bits in hybrid groups of 32 channels have no kernel of their own',
      ],
    ],
    [
      'other parameters',
      planOf({ ...key, parameters: { scale: 'f32', zero: 'f16' } }, value),
      ['key: a scale in f32 has no kernel of its own (f16 has)'],
    ],
    [
      'tables of levels',
      planOf(offsetLevelTable(2, [0, 1, 2, 5], 'tokens', 32), value),
      ['key: tables of levels have no kernel of their own'],
    ],
    ['outliers', planOf(key, withTop(value, 2)), ['value: outliers have no kernel of their own']],
    [
      'transforms',
      planOf({ ...key, transforms: [{ kind: 'hadamard' }] } as TensorScheme, value),
      [
        'key: these transforms have no kernel of their own (hadamard); the channel scale of a sequence has, on keys',
      ],
    ],
    [
      'keys before the rotary embedding',
      planOf({ ...key, stage: 'pre-rope' }, value, rotary),
      ['key: keys held before the rotary embedding have no kernel of their own'],
    ],
    [
      'short blocks',
      planOf(key, value, {}, 64),
      [
        'key: blocks of 64 tokens have no kernel of their own (plan with a multiple of 128 as blockTokens)',
        'value: blocks of 64 tokens have no kernel of their own (plan with a multiple of 128 as blockTokens)',
      ],
    ],
    [
      'blocks that are not whole pages',
      planOf(key, asymmetric(4, 'channels', 32, { recent: 0, flush: 192 })),
      [
        'value: blocks of 192 tokens have no kernel of their own (plan with a multiple of 128 as blockTokens)',
      ],
    ],
    [
      'factors where nothing applies them',
      planOf({ ...key, transforms: [FACTORS] }, value),
      ['key: nothing packs asymmetric uniform codes with transforms yet'],
    ],
    [
      'hybrid codes of another kind',
      planOf(symmetric(3, 'full', 'channels', 32), hybrid(2, 'full', 1, 'symmetric', 'tokens', 32)),
      ['value: nothing packs hybrid full codes of this kind yet'],
    ],
    [
      'another head dim',
      planOf(key, value, wide),
      [
        'key: head dim 160 has no kernel of its own (there is 128, 64, 96, 256)',
        'value: head dim 160 has no kernel of its own (there is 128, 64, 96, 256)',
      ],
    ],
    [
      'keys of 3 bits whose rows are no multiple of 64 channels',
      planOf(symmetric(3, 'full', 'channels', 32), symmetric(3, 'full', 'tokens', 32), narrow),
      ['key: 3 bits of head dim 96 have no kernel of their own (multiples of 64 have)'],
    ],
    [
      'bits that no kernel mixes',
      planOf(key, asymmetric(2, 'channels', 64)),
      [
        'keys of 4 bits in groups of 32 tokens with values of 2 bits in groups of 64 channels have no kernel of their own',
      ],
    ],
  ])('%s', (_, plan, reasons) => {
    expect(supportOf(plan)).toEqual({ kind: 'refused', reasons });
  });

  it('each reason once, however many layers have it', () => {
    const plan = planOf({ bits: 16 }, value, { layers: 3 });
    expect(supportOf(plan)).toEqual({
      kind: 'refused',
      reasons: ['key: f16 has no kernel of its own'],
    });
  });
});

describe('outlier bands', () => {
  const plan = (
    key: Partial<QuantizedTensorScheme>,
    geometry: Partial<Geometry> = {},
    blockTokens = 128,
  ) => {
    const tensor = bands('midRise', 'head', 48);
    const scheme = inlineScheme({ key: { ...tensor, ...key }, value: tensor });
    const shape = { ...GEOMETRY, ...geometry };
    const calibration = inlineCalibration(scheme, shape)!;
    return createPlan(scheme, shape, { blockTokens, calibration });
  };
  const kernels = ({ layers }: Plan) => layers.map(kernelsOf);

  it.each(BAND_INSTANCES.map((instance) => [instance.name, instance] as const))(
    'take %s',
    (name, instance) => {
      const { headDim } = instance;
      expect(kernels(plan({}, { keyHeadDim: headDim, valueHeadDim: headDim }))).toEqual([
        { name, speed: 'compute', instance, reasons: [] },
      ]);
    },
  );

  it.each([
    ['uniform codes', plan(bands('uniform', 'head')), 'key: the middle band has'],
    ['parameters of all heads', plan(bands('midRise', 'allHeads')), 'key: outlier bands have'],
    [
      'keys before the rotary embedding',
      plan({ stage: 'pre-rope' }, { rotary: { pairs: 'halves', frequencies: [1, 0.5] } }),
      'key: keys held',
    ],
    [
      'much room',
      plan(bands('midRise', 'head', 49)),
      'for room for 12288 outliers of a block, not 12544',
    ],
    ['blocks of 64 tokens', plan({}, {}, 64), 'blocks of 128 tokens, not of 64'],
    ['head dim 96', plan({}, { keyHeadDim: 96, valueHeadDim: 96 }), 'of head dims 96 and 96'],
  ])('of %s take the general kernel, and say why', (_, some, reason) => {
    expect(kernels(some)).toEqual([
      {
        name: 'general_attend',
        speed: 'general',
        instance: undefined,
        reasons: expect.arrayContaining([expect.stringContaining(reason)]),
      },
    ]);
  });
});
