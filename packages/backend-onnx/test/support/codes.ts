/**
 * Level tables for random plans.
 */
import type { QuantizedTensorScheme } from '@lowbit-kv/core';
import { inlineTables } from '@lowbit-kv/core/testing';
import fc from 'fast-check';

/** A tensor with any kind of level table. */
export const tables: fc.Arbitrary<QuantizedTensorScheme> = fc
  .tuple(fc.constantFrom('tokens' as const, 'channels' as const), fc.constantFrom(8, 16, 32))
  .chain(([along, size]) => fc.constantFrom(...inlineTables(along, size)));
