/** Self-checks of a scheme: those that passed by name, the others with what they say. */
import type { ReportCheck } from '@lowbit-kv/harness';

export function checkNotes(checks: readonly ReportCheck[]): string[] {
  const passed = checks.filter(({ result }) => result === 'passed').map(({ name }) => name);
  return [
    ...checks
      .filter(({ result }) => result !== 'passed')
      .map(({ name, result, detail }) => `Self-check ${name} ${result}: ${detail}.`),
    ...(passed.length === 0 ? [] : [`Self-checks passed: ${passed.join(', ')}.`]),
  ];
}
