/**
 * A check of the contract suite: a named function that throws when the contract is broken. Checks know no test runner, so
 * that the suite can be run on doctored plugins to show that it fails.
 */
import { formatValue, LowbitKvError } from '../errors.js';
import { maxAbsDifference, nmse } from '../testing/metrics.js';
import type { Tolerance } from '../testing/tolerances.js';

export interface ContractCheck {
  readonly name: string;
  /** Why it cannot run here; empty when it can. */
  readonly skipped: readonly string[];
  /** Throws when the contract is broken. */
  readonly run: () => Promise<void>;
}

export function check(
  name: string,
  run: () => Promise<void>,
  skipped: readonly string[] = [],
): ContractCheck {
  return { name, skipped, run };
}

/** What a broken contract throws. */
export class ContractFailure extends Error {
  override readonly name = 'ContractFailure';
}

export function fail(message: string): never {
  throw new ContractFailure(message);
}

export function ensure(condition: boolean, message: string): asserts condition {
  if (!condition) fail(message);
}

export function ensureEqual(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) fail(`${what}: got ${formatValue(actual)}, expected ${formatValue(expected)}`);
}

/** Elements are equal to the bit (NaN equals NaN, -0 differs from +0). */
export function ensureSame(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  what: string,
): void {
  const at = firstDifference(actual, expected);
  if (at < 0) return;
  fail(
    actual.length === expected.length
      ? `${what}: element ${at} is ${actual[at]}, expected ${expected[at]}`
      : `${what}: ${actual.length} elements, expected ${expected.length}`,
  );
}

/** Index of the first element that differs, or the shorter length; -1 when none does. */
export function firstDifference(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Math.min(actual.length, expected.length);
  for (let i = 0; i < expected.length; i++) if (!Object.is(actual[i], expected[i])) return i;
  return -1;
}

/** Within a tolerance. An expected tensor of zeros has no energy to be measured against, so it must be met exactly. */
export function ensureWithin(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: Tolerance,
  what: string,
): void {
  ensureEqual(actual.length, expected.length, `${what}: elements`);
  if (expected.length === 0) return;
  const measure = tolerance.metric === 'nmse' ? nmse : maxAbsDifference;
  const distance = measure(actual, expected);
  if (distance <= tolerance.value) return;
  fail(`${what}: ${tolerance.metric} ${distance} is above ${tolerance.value}`);
}

/** The action throws, or rejects with, a LowbitKvError of one of these codes; returns its code. */
export async function ensureRefused(
  action: () => unknown,
  codes: readonly string[],
  what: string,
): Promise<string> {
  try {
    await action();
  } catch (error) {
    if (LowbitKvError.is(error) && codes.includes(error.code)) return error.code;
    return fail(`${what}: expected ${codes.join(' or ')}, got ${String(error)}`);
  }
  return fail(`${what}: expected ${codes.join(' or ')}, nothing was thrown`);
}

/** Thrown by a check that finds out while it runs that it does not apply. */
export class ContractSkip extends Error {
  override readonly name = 'ContractSkip';
}
