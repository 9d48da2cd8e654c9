/**
 * The error of a block that has more outliers than its scheme reserves room for.
 */
import { type BlockLayout, LowbitKvError, type TensorPlan } from '@lowbit-kv/core';

export function outlierCapacity(plan: TensorPlan, layer: number, head: number): LowbitKvError {
  const { sparse, blockTokens } = plan.layout as BlockLayout;
  const capacity = sparse?.entries.capacity ?? 0;
  return new LowbitKvError('OUTLIER_CAPACITY', {
    message: 'a block has more outliers than there is room for',
    value: `more than ${capacity}`,
    valid: `at most ${capacity} in ${blockTokens} tokens of a head`,
    next: 'Raise outliers.storage.reserve of the scheme (64 holds everything), or calibrate the thresholds on data like this.',
    where: { tensor: plan.tensor, layer, head: plan.headNumbers?.[head] ?? head },
  });
}
