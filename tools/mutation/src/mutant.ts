// What a mutant is, and how it is put into a source.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url));

export type MutantKind = 'sign' | 'shift' | 'rounding' | 'bound' | 'place' | 'choice';

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

export function mutant(
  kind: MutantKind,
  why: string,
  find: string,
  replace: string,
  equivalent?: string,
): Mutant {
  return { kind, find, replace, why, ...(equivalent === undefined ? {} : { equivalent }) };
}

/** The mutants of one source, and the tests likely to notice them, cheapest first. */
export interface Target {
  /** Folder of the package. Default `core`. */
  readonly package?: string;
  /** From `src` of the package; WGSL goes to the text that is embedded from it. */
  readonly file: string;
  /** Files from `test` of the package; `file::pattern` for the tests whose full names match a regular expression. */
  readonly tests: readonly string[];
  readonly mutants: readonly Mutant[];
}

/** Path of the source from the root of a checkout. */
export function sourcePath({ package: name = 'core', file }: Target): string {
  return `packages/${name}/src/${file}`;
}

/** Test files that are run together, one after another, and a regular expression of names in them. */
export interface TestChoice {
  /** From the root of a checkout. */
  readonly files: readonly string[];
  readonly only: string | undefined;
}

/** Neighbours that are run whole are run together: most of a run is loading what is tested. */
export function testChoices({ package: name = 'core', tests }: Target): TestChoice[] {
  const choices: { files: string[]; only: string | undefined }[] = [];
  for (const text of tests) {
    const [file, only] = text.split('::') as [string, string?];
    const path = `packages/${name}/test/${file}`;
    const last = choices.at(-1);
    if (last !== undefined && last.only === undefined && only === undefined) last.files.push(path);
    else choices.push({ files: [path], only });
  }
  return choices;
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
export function readSource(root: string, target: Target): string {
  return readFileSync(join(root, sourcePath(target)), 'utf8');
}
