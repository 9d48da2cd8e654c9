/**
 * Plans that attention kernels are run with on the host, and what is asked of them.
 */
import {
  createPlan,
  type Geometry,
  type LayerPlan,
  type Plan,
  type TensorScheme,
} from '@lowbit-kv/core';
import type { Pair, Twin } from '@lowbit-kv/core/contract';
import {
  asymmetric,
  bands,
  channelScaled,
  hybrid,
  inlineCalibration,
  inlineScheme,
  symmetric,
} from '@lowbit-kv/core/testing';
import type { BuiltInstance } from '../../../scripts/kernel-sources.js';
import { chooseInstance, chooseRowsInstances } from '../../../src/choose-instance.js';
import { kernelsOf } from '../../../src/support.js';

interface Shape extends Partial<Geometry> {
  readonly headDim?: number;
  /** Query heads of each of two kv heads. */
  readonly group?: number;
  readonly sinks?: number;
}

function planOf(key: TensorScheme, value: TensorScheme, shape: Shape = {}): Plan {
  const { headDim = 128, group = 3, sinks = 3, ...geometry } = shape;
  const scheme = inlineScheme({ key, value, sinks });
  const whole = {
    ...{ layers: 1, queryHeads: 2 * group, kvHeads: 2, keyHeadDim: headDim, valueHeadDim: headDim },
    ...geometry,
  };
  const calibration = inlineCalibration(scheme, whole);
  return createPlan(scheme, whole, {
    blockTokens: 128,
    ...(calibration === undefined ? {} : { calibration }),
  });
}

/** One tensor has packed tokens that the other has not. */
const late = (flush: number) => ({ recent: 40, flush });
const soon = (flush: number) => ({ recent: 8, flush });

export const ATTENTION_PLANS: readonly (readonly [string, Plan])[] = [
  [
    '4 bits, groups of 128',
    planOf(asymmetric(4, 'tokens', 128, soon(128)), asymmetric(4, 'channels', 128, late(1))),
  ],
  [
    '4 bits, groups of 32, head dim 64, soft cap',
    planOf(asymmetric(4, 'tokens', 32, soon(32)), asymmetric(4, 'channels', 32, late(1)), {
      headDim: 64,
      softCap: 4,
    }),
  ],
  [
    '2 bits, groups of 32, twelve warps',
    planOf(asymmetric(2, 'tokens', 32, soon(32)), asymmetric(2, 'channels', 32, late(1))),
  ],
  [
    'seven query heads, two tiles',
    planOf(asymmetric(4, 'tokens', 128, soon(128)), asymmetric(4, 'channels', 128, late(1)), {
      group: 7,
    }),
  ],
  [
    'twelve query heads, as rows',
    planOf(asymmetric(4, 'tokens', 128, soon(128)), asymmetric(4, 'channels', 128, late(1)), {
      group: 12,
    }),
  ],
  [
    '3 bits with factors, hybrid values',
    planOf(
      channelScaled(symmetric(3, 'full', 'channels', 32, soon(8)), 40),
      hybrid(2, 'full', 2, 'symmetric', 'tokens', 32, late(32)),
    ),
  ],
  [
    '8 bits over a minimum, head dim 64, sliding window',
    planOf(asymmetric(8, 'channels', 64, soon(1)), asymmetric(8, 'channels', 64, late(1)), {
      headDim: 64,
      slidingWindow: { size: 190, sinks: 2 },
    }),
  ],
  // Of normal values 18 % are outliers: half way through a page they become bytes.
  [
    'outlier bands, room for few words, head dim 64',
    planOf(bands('midRise', 'head', 15, soon(8)), bands('midRise', 'head', 15, late(1)), {
      headDim: 64,
    }),
  ],
  ...([64, 128] as const).map(
    (headDim) =>
      [
        `outlier bands, head dim ${headDim}`,
        planOf(bands('midRise', 'head', 40, soon(8)), bands('midRise', 'head', 48, late(1)), {
          headDim,
          sinks: 4,
        }),
      ] as const,
  ),
];

/** Those that the plans take for one query token and for several. */
export function instancesOf(layer: LayerPlan): readonly BuiltInstance[] {
  const { instance } = kernelsOf(layer);
  if (instance === undefined) throw new Error('the plan takes the general kernel');
  return chooseInstance(layer).instance === undefined
    ? [instance]
    : [instance, ...chooseRowsInstances(layer)];
}

/** Windows, packed tokens of one tensor, full pages, more of them than a block has warps, and partial ones, one query token and several, some of them on packed pages. */
export async function attendWith(twin: Twin): Promise<void> {
  const [a, b] = [twin.createPair(), twin.createPair()] as [Pair, Pair];
  await twin.grow(a, 1700);
  await twin.grow(b, 20);
  // One block of a head, on a small card.
  await twin.attend([a], [1]);
  await twin.step([
    { pair: a, tokens: 1 },
    { pair: b, tokens: 1 },
  ]);
  await twin.step([
    { pair: a, tokens: 7 },
    { pair: b, tokens: 2 },
  ]);
}
