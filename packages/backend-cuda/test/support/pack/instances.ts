/**
 * Plans that the pack kernel is built for in tests: numbers for C++, and the same plan from core's planner.
 */
import {
  createPlan,
  type LayerPlan,
  type PackedTensorPlan,
  type QuantizedTensorScheme,
  type Transform,
} from '@lowbit-kv/core';
import { asymmetric, hybrid, inlineScheme, symmetric } from '@lowbit-kv/core/testing';
import type { Packing } from '../../../src/instances.js';

export interface Instance {
  readonly tensor: 'key' | 'value';
  readonly bits: 2 | 3 | 4 | 8;
  readonly along: 'tokens' | 'channels';
  readonly groupSize: number;
  readonly headDim: number;
  readonly packing: Packing;
  /** Channels are multiplied with factors of the sequence. */
  readonly hasFactors?: boolean;
}

const CODE_SETS = { signmag: 'SIGNMAG', full: 'FULL', fullSigned: 'FULL_SIGNED' } as const;

export function nameOf(instance: Instance): string {
  const { tensor, bits, along, groupSize, headDim, packing, hasFactors } = instance;
  return [
    `${tensor} ${bits} bit along ${along} g${groupSize} d${headDim}`,
    ...Object.values(packing),
    ...(hasFactors ? ['factors'] : []),
  ].join(' ');
}

/** The line of `instances.inc`. */
export function instanceLine(instance: Instance): string {
  const { tensor, bits, along, groupSize, headDim, packing } = instance;
  const codes = packing.mode === 'asymmetric' ? 'FULL' : CODE_SETS[packing.codes];
  const [asymmetricBits, tie] =
    packing.mode === 'hybrid'
      ? [packing.asymmetricBits, packing.tie === 'asymmetric']
      : [bits, false];
  const words = [
    tensor.toUpperCase(),
    bits,
    along.toUpperCase(),
    groupSize,
    headDim,
    packing.mode.toUpperCase(),
    codes,
    asymmetricBits,
    tie,
    instance.hasFactors ?? false,
  ];
  return `INSTANCE(${words.join(', ')})\n`;
}

export function planOf(instance: Instance, heads: number, blockTokens = 128): PackedTensorPlan {
  const scheme = schemeOf(instance);
  const plan = createPlan(
    inlineScheme({ key: scheme, value: scheme }),
    {
      layers: 1,
      queryHeads: heads,
      kvHeads: heads,
      keyHeadDim: instance.headDim,
      valueHeadDim: instance.headDim,
    },
    { blockTokens },
  );
  return (plan.layers[0] as LayerPlan)[instance.tensor] as PackedTensorPlan;
}

function schemeOf(instance: Instance): QuantizedTensorScheme {
  const scheme = plainScheme(instance);
  return instance.hasFactors ? { ...scheme, transforms: [FACTORS] } : scheme;
}

/** Factors that packing multiplies channels with, measured on the sequence. */
export const FACTORS: Transform = {
  kind: 'channelScale',
  scope: 'sequence',
  statistic: 'rootAbsoluteMaximum',
  statisticsTokens: 32,
  clamp: [2 ** -6, 2 ** 6],
  minimumSpread: 1.2,
};

function plainScheme({ bits, along, groupSize, packing }: Instance): QuantizedTensorScheme {
  switch (packing.mode) {
    case 'asymmetric':
      return asymmetric(bits, along, groupSize);
    case 'symmetric':
      return symmetric(bits, packing.codes, along, groupSize);
    case 'hybrid': {
      const { codes, asymmetricBits, tie } = packing;
      return hybrid(bits, codes, asymmetricBits, tie, along, groupSize);
    }
  }
}

const SHAPES = [
  { headDim: 64, groupSize: 32 },
  { headDim: 64, groupSize: 64 },
  { headDim: 96, groupSize: 32 },
  { headDim: 128, groupSize: 32 },
  { headDim: 128, groupSize: 64 },
  { headDim: 128, groupSize: 128 },
  { headDim: 256, groupSize: 32 },
  { headDim: 256, groupSize: 128 },
] as const;

/** Every layout with the asymmetric quantizer, the others in turn, so that each meets all bits, axes and head dims. */
export function allInstances(): Instance[] {
  const layouts = (['key', 'value'] as const).flatMap((tensor) =>
    (['tokens', 'channels'] as const).flatMap((along) =>
      ([2, 3, 4, 8] as const).flatMap((bits) =>
        SHAPES.filter(({ headDim }) => bits !== 3 || tensor === 'value' || headDim % 64 === 0).map(
          (shape) => ({ tensor, along, bits, ...shape }),
        ),
      ),
    ),
  );
  return layouts.flatMap((layout, i): Instance[] => {
    const packing = packingOf(layout.bits, i);
    const instances: Instance[] = [
      { ...layout, packing: { mode: 'asymmetric' } },
      { ...layout, packing },
    ];
    // Of keys around zero, with factors too.
    return layout.tensor === 'key' && packing.mode === 'symmetric'
      ? [...instances, { ...layout, packing, hasFactors: true }]
      : instances;
  });
}

function packingOf(bits: 2 | 3 | 4 | 8, turn: number): Packing {
  const all: readonly Packing[] = [
    { mode: 'symmetric', codes: 'full' },
    { mode: 'symmetric', codes: 'fullSigned' },
    { mode: 'hybrid', codes: 'full', asymmetricBits: bits, tie: 'symmetric' },
    { mode: 'symmetric', codes: 'signmag' },
    { mode: 'hybrid', codes: 'signmag', asymmetricBits: bits - 1, tie: 'asymmetric' },
  ];
  return all[turn % all.length] as Packing;
}
