/**
 * Elements that share parameters.
 */
import type { TensorPlan } from '@lowbit-kv/core';

export function groupSize({ layout }: TensorPlan): number {
  if (layout === null) return 0;
  return layout.codes.rows === 'channels' ? layout.tokensPerGroup : layout.channelsPerGroup;
}
