/**
 * Elements that share parameters: a run of tokens of one channel, or of channels of one token.
 */
import type { TensorPlan } from '@lowbit-kv/core';

export function groupSize({ layout }: TensorPlan): number {
  return layout === null ? 0 : layout.tokensPerGroup * layout.channelsPerGroup;
}
