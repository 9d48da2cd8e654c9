// What a mutant is, and how it is put into a source.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url));
/** Of every source, from the root of a checkout. */
export const sourceFolder = 'packages/core/src';
/** Of every test. */
export const testFolder = 'packages/core/test';

export type MutantKind = 'sign' | 'shift' | 'rounding' | 'bound';

/** One wrong token. */
export interface Mutant {
  readonly kind: MutantKind;
  /** Stands exactly once in the source. */
  readonly find: string;
  readonly replace: string;
  /** What goes wrong with it. */
  readonly why: string;
  /** Why no test can tell it from the source, where none can. */
  readonly equivalent?: string;
}

/** The mutants of one source, and the test files likely to notice them, cheapest first. */
export interface Target {
  /** From `sourceFolder`. */
  readonly file: string;
  /** From `testFolder`. */
  readonly tests: readonly string[];
  readonly mutants: readonly Mutant[];
}

/** The source with the mutant in it. Throws unless its text stands there exactly once, and changes. */
export function mutate(source: string, { find, replace }: Mutant, file: string): string {
  const pieces = source.split(find);
  if (pieces.length !== 2)
    throw new Error(`${file}: found ${pieces.length - 1} times, not once: ${find}`);
  if (find === replace) throw new Error(`${file}: changes nothing: ${find}`);
  return pieces.join(replace);
}

/** The text of the source of a target in the checkout at `root`. */
export function readSource(root: string, { file }: Target): string {
  return readFileSync(join(root, sourceFolder, file), 'utf8');
}
