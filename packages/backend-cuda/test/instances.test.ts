// Which kernel a plan takes, and the words where it takes none.
import { readFileSync } from 'node:fs';
import { createPlan, type Geometry, type TensorScheme } from '@lowbit-kv/core';
import {
  asymmetric,
  hybrid,
  inlineScheme,
  offsetLevelTable,
  symmetric,
  withTop,
} from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import { chooseInstance, supportOf } from '../src/choose-instance.js';
import { INSTANCES } from '../src/instances.js';
import { instanceTable } from './support/instance-table.js';

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

it('docs/instances.md shows every instance', () => {
  const text = readFileSync(new URL('../docs/instances.md', import.meta.url), 'utf8');
  expect(text.slice(text.indexOf('| kernel'))).toBe(`${instanceTable()}\n`);
});

it('names are unique', () => {
  expect(new Set(INSTANCES.map(({ name }) => name)).size).toBe(INSTANCES.length);
});

describe('every instance is chosen by the plan it is for', () => {
  it.each(INSTANCES.map((instance) => [instance.name, instance] as const))('%s', (name, own) => {
    const plan = planOf(
      asymmetric(own.key.bits, own.key.along, own.key.groupSize),
      asymmetric(own.value.bits, own.value.along, own.value.groupSize),
      { queryHeads: 2 * own.queryHeads },
    );
    expect(supportOf(plan)).toEqual({ kind: 'native', kernels: [name] });
    expect(chooseInstance(plan.layers[0]!)).toEqual({ instance: own });
  });
});

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
    kernels: ['attend_k2t32z_v2c32z_d128_q4', 'attend_k4t64z_v4c64z_d128_q4'],
  });
});

describe('refusals say what has no kernel', () => {
  const key = asymmetric(4, 'tokens', 32);
  const value = asymmetric(4, 'channels', 32);
  const wide = { keyHeadDim: 256, valueHeadDim: 256 };
  const rotary = { rotary: { pairs: 'halves' as const } };
  it.each([
    ['f16 keys', planOf({ bits: 16 }, value), ['key: f16 has no kernel yet']],
    [
      '3 bits',
      planOf(key, asymmetric(3, 'channels', 32)),
      ['value: 3 bits have no kernel yet (there is 2, 4)'],
    ],
    [
      'the other axes',
      planOf(asymmetric(4, 'channels', 32), asymmetric(4, 'tokens', 32)),
      [
        'key: groups along channels have no kernel yet (there is tokens)',
        'value: groups along tokens have no kernel yet (there is channels)',
      ],
    ],
    [
      'small groups',
      planOf(key, asymmetric(4, 'channels', 16)),
      ['value: groups of 16 have no kernel yet (there is 32, 64, 128)'],
    ],
    [
      'symmetric codes',
      planOf(symmetric(4, 'signmag', 'tokens', 32), value),
      ['key: symmetric quantization has no kernel yet (asymmetric has)'],
    ],
    [
      'hybrid codes',
      planOf(key, hybrid(4, 'signmag', 4, 'symmetric', 'channels', 32)),
      ['value: hybrid quantization has no kernel yet (asymmetric has)'],
    ],
    [
      'other parameters',
      planOf({ ...key, parameters: { scale: 'f32', zero: 'f16' } }, value),
      ['key: a scale in f32 has no kernel yet (f16 has)'],
    ],
    [
      'tables of levels',
      planOf(offsetLevelTable(2, [0, 1, 2, 5], 'tokens', 32), value),
      ['key: tables of levels have no kernel yet'],
    ],
    ['outliers', planOf(key, withTop(value, 2)), ['value: outliers have no kernel yet']],
    [
      'transforms',
      planOf({ ...key, transforms: [{ kind: 'hadamard' }] } as TensorScheme, value),
      ['key: transforms have no kernel yet (hadamard)'],
    ],
    [
      'keys before the rotary embedding',
      planOf({ ...key, stage: 'pre-rope' }, value, rotary),
      ['key: keys held before the rotary embedding have no kernel yet'],
    ],
    [
      'short blocks',
      planOf(key, value, {}, 64),
      [
        'key: blocks of 64 tokens have no kernel yet (plan with blockTokens 128)',
        'value: blocks of 64 tokens have no kernel yet (plan with blockTokens 128)',
      ],
    ],
    [
      'another head dim',
      planOf(key, value, wide),
      [
        'key: head dim 256 has no kernel yet (there is 128)',
        'value: head dim 256 has no kernel yet (there is 128)',
      ],
    ],
    [
      'many query heads',
      planOf(key, value, { queryHeads: 16 }),
      ['8 query heads of a kv head have no kernel yet (there is 1, 2, 3, 4)'],
    ],
    [
      'bits that no kernel mixes',
      planOf(key, asymmetric(2, 'channels', 64)),
      [
        'keys of 4 bits in groups of 32 tokens with values of 2 bits in groups of 64 channels have no kernel yet',
      ],
    ],
  ])('%s', (_, plan, reasons) => {
    expect(supportOf(plan)).toEqual({ kind: 'refused', reasons });
  });

  it('each reason once, however many layers have it', () => {
    const plan = planOf({ bits: 16 }, value, { layers: 3 });
    expect(supportOf(plan)).toEqual({
      kind: 'refused',
      reasons: ['key: f16 has no kernel yet'],
    });
  });
});
