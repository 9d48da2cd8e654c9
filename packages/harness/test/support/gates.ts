/** Comparisons to judge, and what a gate says of them. */
import { type Backend, referenceBackend, type Scheme } from '@lowbit-kv/core';
import {
  type CompareReport,
  checkGate,
  compareSchemes,
  type JudgedReport,
  parseCondition,
} from '../../src/index.js';
import { syntheticCapture } from './synthetic-capture.js';

export async function compared(
  schemes: readonly Scheme[],
  backend: Backend = referenceBackend(),
): Promise<CompareReport> {
  return compareSchemes({ capture: await syntheticCapture(), schemes, backend });
}

/** Messages of the built-in gate; empty when it passes. */
export function builtInFailures(report: JudgedReport): string[] {
  const { passed, failures } = checkGate(report, { builtIn: true });
  if (passed !== (failures.length === 0)) throw new Error('passed and failures disagree');
  return failures.map(({ message }) => message);
}

/** Messages of a gate of these conditions alone. */
export function failuresOf(report: JudgedReport, ...texts: string[]): string[] {
  const kind = 'capture' in report ? 'compare' : 'eval';
  const conditions = texts.map((text) => parseCondition(text, kind));
  return checkGate(report, { conditions }).failures.map(({ message }) => message);
}
