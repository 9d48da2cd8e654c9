/**
 * Reads a case of fixtures/cases. Numbers that JSON cannot write stand there as strings and come back as numbers.
 */
import { readFileSync } from 'node:fs';

const SPECIAL = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-0', -0],
]);

export function loadCase<Input, Expected>(id: string): { input: Input; expected: Expected } {
  const file = new URL(`../../../../fixtures/cases/${id}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8'), (_key, value: unknown) =>
    typeof value === 'string' ? (SPECIAL.get(value) ?? value) : value,
  );
}
