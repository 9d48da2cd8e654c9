/**
 * Reads a case of fixtures/cases.
 */
import { readFileSync } from 'node:fs';

export function loadCase<Input, Expected>(
  id: string,
): { readonly input: Input; readonly expected: Expected } {
  return JSON.parse(
    readFileSync(new URL(`../../../../fixtures/cases/${id}.json`, import.meta.url), 'utf8'),
  );
}
