/**
 * What a statistics page can hold: the numbers that `measureStatistics` gives, and no others.
 */
import { isFiniteF16 } from '../float16.js';
import type { TensorPlan } from '../plan/plan.js';
import { F16_MAX_BITS, F16_ONE_BITS, F16_SMALLEST_NORMAL_BITS } from './scale.js';
import { reciprocalRoot } from './statistics.js';
import { isMeasured, type MeasuredTransform, transformsOf } from './transform-numbers.js';

export interface StatisticsFault {
  readonly bits: number;
  readonly valid: string;
}

/** The first of `count` f16 bits of statistics pages, one after another, that no measurement gives; null without one. */
export function statisticsFault(
  plan: TensorPlan,
  bitsAt: (index: number) => number,
  count: number,
): StatisticsFault | null {
  const ranges = transformsOf(plan).filter(isMeasured).map(rangeOf);
  const width = plan.heads * plan.headDim;
  for (let index = 0; index < count; index++) {
    const range = ranges[Math.floor(index / width) % ranges.length];
    const bits = bitsAt(index);
    if (range !== undefined && !range.holds(bits)) return { bits, valid: range.valid };
  }
  return null;
}

function rangeOf(transform: MeasuredTransform): {
  readonly holds: (bits: number) => boolean;
  readonly valid: string;
} {
  if (transform.kind === 'channelMean') return { holds: isFiniteF16, valid: 'finite f16 values' };
  if (transform.kind !== 'channelScale')
    return {
      holds: (bits) => bits >= F16_SMALLEST_NORMAL_BITS && bits <= F16_MAX_BITS,
      valid: 'positive normal f16 values',
    };
  // Bits of positive f16 values rise with them.
  const [least, most] = transform.clamp;
  const [smallest, largest] = [reciprocalRoot(most ** 2), reciprocalRoot(least ** 2)];
  return {
    holds: (bits) => (bits >= smallest && bits <= largest) || bits === F16_ONE_BITS,
    valid: `f16 reciprocals of ${least} to ${most}, or 1`,
  };
}
