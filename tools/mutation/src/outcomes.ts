// Breaks the scratch copy by one mutant after another, and asks the tests.
import {
  type Mutant,
  mutate,
  readSource,
  sourceFolder,
  type Target,
  testFolder,
} from './mutant.js';
import type { Request, Suite } from './suite.js';

export interface Outcome extends Mutant {
  readonly file: string;
  /** The test that noticed; 'timeout' when the tests did not end; null when none did. */
  readonly killedBy: string | null;
  /** Whether it took the whole suite to find that out. */
  readonly wholeSuite: boolean;
  readonly seconds: number;
}

/** Seconds that the likely tests and the whole suite may take. */
export interface Limits {
  readonly likely: number;
  readonly whole: number;
}

/** One mutant: its likely tests first, then the other tests of core. The source is as before afterwards. */
export async function outcomeOf(
  suite: Suite,
  root: string,
  target: Target,
  mutant: Mutant,
  limits: Limits,
): Promise<Outcome> {
  const start = performance.now();
  const source = readSource(root, target);
  const path = `${sourceFolder}/${target.file}`;
  const broken = mutate(source, mutant, target.file);
  const ask = async (files: Request['files'], limit: number): Promise<string | null> => {
    const answer = await suite.run(files, limit);
    if (answer === null) return 'timeout';
    return answer.failed ?? answer.errors[0] ?? null;
  };
  suite.write(path, broken);
  try {
    const likely = target.tests.map((test) => `${testFolder}/${test}`);
    const first = await ask(likely, limits.likely);
    const killedBy = first ?? (await ask({ allBut: likely }, limits.whole));
    const seconds = (performance.now() - start) / 1000;
    return { ...mutant, file: target.file, killedBy, wholeSuite: first === null, seconds };
  } finally {
    suite.write(path, source);
  }
}
