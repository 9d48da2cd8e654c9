/**
 * The window law: which tokens of a sequence are sinks, packed, or in the f16 tail.
 *
 * Sinks are positions below `sinks`. While the tail holds at least `recent + flush + rollback` tokens, its `flush` oldest
 * are packed; nothing packs before the statistics of the sequence exist.
 */
import type { PageClass } from '../plan/plan.js';

type WindowRule = Pick<PageClass, 'sinks' | 'recent' | 'flush' | 'statisticsTokens'>;

/** How many of `tail` f16 tokens are packed now, in a sequence of `length` tokens. */
export function packableTokens(
  rule: WindowRule,
  tail: number,
  length: number,
  rollback: number,
): number {
  if (rule.flush === 0 || length < rule.sinks + rule.statisticsTokens) return 0;
  return Math.floor(Math.max(tail - rule.recent - rollback, 0) / rule.flush) * rule.flush;
}

export interface WindowCounts {
  readonly sinks: number;
  readonly packed: number;
  readonly tail: number;
}

/** The state after `length` tokens without truncation, however they were split into steps. */
export function windowCounts(rule: WindowRule, length: number, rollback = 0): WindowCounts {
  const sinks = rule.flush === 0 ? 0 : Math.min(length, rule.sinks);
  const rest = length - sinks;
  const packed = packableTokens(rule, rest, length, rollback);
  return { sinks, packed, tail: rest - packed };
}
