/**
 * Stands for `vitest` in a page: keeps the tests that a suite registers, to be run one by one from outside.
 */
interface Context {
  skip(): never;
}

type Run = (context: Context) => unknown;

const runs: { readonly name: string; readonly run: Run }[] = [];
const SKIPPED = Symbol('skipped');

export function describe(_name: string, register: () => void): void {
  register();
}

export function it(name: string, ...rest: readonly unknown[]): void {
  const run = rest.find((part): part is Run => typeof part === 'function');
  if (run === undefined) throw new TypeError(`test ${name} has no function`);
  runs.push({ name, run });
}

export function testNames(): string[] {
  return runs.map(({ name }) => name);
}

export async function runTest(index: number): Promise<'passed' | 'skipped'> {
  const test = runs[index];
  if (test === undefined) throw new RangeError(`no test ${index}`);
  const context: Context = {
    skip() {
      throw SKIPPED;
    },
  };
  try {
    await test.run(context);
    return 'passed';
  } catch (error) {
    if (error === SKIPPED) return 'skipped';
    throw error;
  }
}
