/**
 * Chains of transforms for the tests, and arbitrary ones.
 */
import type { QuantizedTensorScheme, Transform } from '@lowbit-kv/core';
import fc from 'fast-check';

export const HADAMARD: Transform = { kind: 'hadamard' };

export function channelMean(statisticsTokens: number): Transform {
  return { kind: 'channelMean', scope: 'sequence', statisticsTokens };
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

/** Up to four transforms, measured on the same tokens. */
export const transformChain: fc.Arbitrary<readonly Transform[]> = fc
  .tuple(
    fc.integer({ min: 1, max: 40 }),
    fc.array(fc.constantFrom('mean' as const, 'scale' as const, 'rotation' as const), {
      maxLength: 4,
    }),
    fc.constantFrom(1, 1.5, 100),
  )
  .map(([tokens, kinds, spread]) =>
    kinds.map((kind) => {
      if (kind === 'rotation') return HADAMARD;
      return kind === 'mean' ? channelMean(tokens) : channelScale(tokens, spread);
    }),
  );
