/**
 * Chains of transforms for the tests, and arbitrary ones.
 */
import type { QuantizedTensorScheme, Transform } from '@lowbit-kv/core';
import fc from 'fast-check';

export const HADAMARD: Transform = { kind: 'hadamard' };

export const CALIBRATED: readonly Transform[] = [
  { kind: 'tensorScale', scope: 'model' },
  { kind: 'channelScale', scope: 'model' },
  { kind: 'channelMean', scope: 'model' },
  { kind: 'channelOrder', scope: 'model' },
];

export function rotation(seed: number): Transform {
  return { kind: 'hadamard', seed };
}

export function channelMean(statisticsTokens: number, minimumOffset = 0): Transform {
  const rule = { kind: 'channelMean', scope: 'sequence', statisticsTokens } as const;
  return minimumOffset === 0 ? rule : { ...rule, minimumOffset };
}

export function tensorScale(statisticsTokens: number, largest: number): Transform {
  return { kind: 'tensorScale', scope: 'sequence', statisticsTokens, largest };
}

export function channelScale(statisticsTokens: number, minimumSpread = 1): Transform {
  return {
    kind: 'channelScale',
    scope: 'sequence',
    statistic: 'rootAbsoluteMaximum',
    statisticsTokens,
    clamp: [2 ** -6, 2 ** 6],
    minimumSpread,
  };
}

export function transformed(
  tensor: QuantizedTensorScheme,
  ...transforms: readonly Transform[]
): QuantizedTensorScheme {
  return { ...tensor, transforms };
}

/** Up to four transforms, measured on the same tokens; calibration has values for one of each kind. */
export const transformChain: fc.Arbitrary<readonly Transform[]> = fc
  .integer({ min: 1, max: 40 })
  .chain((tokens) => fc.array(transformOf(tokens), { maxLength: 4 }))
  .map((chain) =>
    chain.filter((step, i) => !CALIBRATED.includes(step) || chain.indexOf(step) === i),
  );

function transformOf(tokens: number): fc.Arbitrary<Transform> {
  return fc.oneof(
    fc.constantFrom(0, 0.5, 2).map((minimumOffset) => channelMean(tokens, minimumOffset)),
    fc.constantFrom(1, 1.5, 100).map((minimumSpread) => channelScale(tokens, minimumSpread)),
    fc.constantFrom(6, 448, 2688).map((largest) => tensorScale(tokens, largest)),
    fc.constant(HADAMARD),
    fc.integer({ min: 0, max: 2 ** 32 - 1 }).map(rotation),
    fc.constantFrom(...CALIBRATED),
  );
}
