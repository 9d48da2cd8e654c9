/** Which tokens of a sequence are sinks, packed, or in the f16 tail, token by token: the window law of core. */
import { type PageClass, type WindowCounts, windowCounts } from '@lowbit-kv/core';

export interface WindowStep extends WindowCounts {
  readonly length: number;
  /** What this token set off, in words; empty when it only joined a window. */
  readonly event: string;
  /** Length at which tokens are packed next; null when nothing ever is. */
  readonly next: number | null;
}

export function windowStep(rule: PageClass, length: number): WindowStep {
  const now = windowCounts(rule, length);
  const before = windowCounts(rule, Math.max(0, length - 1));
  const packed = now.packed - before.packed;
  return {
    ...now,
    length,
    event:
      packed === 0 ? '' : `${packed} token${packed === 1 ? ' was' : 's were'} packed in this step`,
    next: rule.flush === 0 ? null : nextPack(rule, length),
  };
}

/** The first length after `length` at which more is packed. */
export function nextPack(rule: PageClass, length: number): number {
  const { packed } = windowCounts(rule, length);
  let next = length + 1;
  while (windowCounts(rule, next).packed === packed) next++;
  return next;
}
