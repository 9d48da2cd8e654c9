// Breaks the scratch copy by one mutant after another, and asks the tests.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { embeddedShaders } from '../../../packages/backend-webgpu/scripts/embed-shaders.js';
import {
  type Mutant,
  mutate,
  readSource,
  sourcePath,
  type Target,
  type TestChoice,
  testChoices,
} from './mutant.js';
import type { Suite } from './suite.js';

export interface Outcome extends Mutant {
  /** From the root of the repository. */
  readonly file: string;
  /** The test that noticed; 'timeout' when the tests did not end; null when none did. */
  readonly killedBy: string | null;
  readonly seconds: number;
}

/** One mutant: the tests of its target, one file after another. The source is as before afterwards. */
export async function outcomeOf(
  suite: Suite,
  root: string,
  target: Target,
  mutant: Mutant,
  limit: number,
): Promise<{ readonly outcome: Outcome; readonly killer: TestChoice | null }> {
  const start = performance.now();
  const source = readSource(root, target);
  const path = sourcePath(target);
  writeBroken(suite, root, path, mutate(source, mutant, path));
  try {
    const failure = await firstFailure(suite, testChoices(target), limit);
    const seconds = (performance.now() - start) / 1000;
    const outcome = { ...mutant, file: path, killedBy: failure?.test ?? null, seconds };
    return { outcome, killer: failure?.choice ?? null };
  } finally {
    writeBroken(suite, root, path, source);
  }
}

/** A test that failed, and the choice of tests that it is of: its file alone, where that is known. */
export interface Failure {
  readonly test: string;
  readonly choice: TestChoice;
}

/** Null when all pass. Throws when none of a choice runs. */
export async function firstFailure(
  suite: Suite,
  choices: readonly TestChoice[],
  limit: number,
): Promise<Failure | null> {
  for (const choice of choices) {
    const answer = await suite.run(choice, limit);
    if (answer === null) return { test: 'timeout', choice };
    const test = answer.failed ?? answer.errors[0];
    if (test !== undefined) {
      const files = choice.files.filter((file) => test.startsWith(`${file}:`));
      return { test, choice: files.length === 0 ? choice : { ...choice, files } };
    }
    if (answer.passed === 0) throw new Error(`no test ran: ${JSON.stringify(choice)}`);
  }
  return null;
}

/** Programs have WGSL as text that is embedded: it is embedded again. */
function writeBroken(suite: Suite, root: string, path: string, text: string): void {
  suite.write(path, text);
  if (!path.endsWith('.wgsl')) return;
  const folder = join(root, path, '..');
  const parts = join(folder, 'parts.generated.ts');
  const embedded = embeddedShaders(pathToFileURL(`${folder}/`));
  if (embedded !== readFileSync(parts, 'utf8')) suite.write(parts.slice(root.length + 1), embedded);
}
