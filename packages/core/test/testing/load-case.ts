/**
 * Reads a case file of fixtures/cases. Numbers that JSON cannot write stand there as strings and come back as numbers.
 */
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../../../../fixtures/cases/', import.meta.url);

const SPECIAL_NUMBERS = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-0', -0],
]);

export interface CaseFile<Input, Expected> {
  readonly id: string;
  readonly description: string;
  readonly input: Input;
  readonly expected: Expected;
}

/** The case with this id; the caller states the types of the parts it reads. */
export function loadCase<Input, Expected>(id: string): CaseFile<Input, Expected> {
  return JSON.parse(readCaseText(id), (_key, value: unknown) =>
    typeof value === 'string' ? (SPECIAL_NUMBERS.get(value) ?? value) : value,
  ) as CaseFile<Input, Expected>;
}

export function caseIds(): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length));
}

export function readCaseText(id: string): string {
  return readFileSync(new URL(`${id}.json`, folder), 'utf8');
}
