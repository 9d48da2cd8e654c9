// Runs as a child process in a scratch copy: keeps one vitest, and runs test files whenever it is asked to.
import { join } from 'node:path';
import { BaseSequencer, createVitest, type TestModule, type TestSpecification } from 'vitest/node';
import type { Answer, Request } from './suite.js';

/** Keeps the order in which files were asked for. */
class GivenOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }
}

const root = process.cwd();
const vitest = await createVitest('test', {
  config: join(root, 'vitest.config.mjs'),
  watch: false,
  bail: 1,
  reporters: [{}],
  sequence: { sequencer: GivenOrder },
});
await vitest.standalone();
const specifications = await vitest.globTestSpecifications();

process.on('message', async ({ changed, files }: Request) => {
  for (const file of changed) vitest.invalidateFile(join(root, file));
  const wanted =
    files === 'all'
      ? specifications
      : files.map((file) => {
          const found = specifications.find(({ moduleId }) => moduleId === join(root, file));
          if (found === undefined) throw new Error(`no such test file: ${file}`);
          return found;
        });
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([...wanted]);
  send({
    failed: firstFailure(testModules),
    errors: unhandledErrors.map(String),
    ...counts(testModules),
  });
});
send({ failed: null, errors: [], passed: 0, files: [] });

function send(answer: Answer): void {
  process.send?.(answer);
}

/** The name of the first test that failed, or of a file that could not be loaded. */
function firstFailure(modules: readonly TestModule[]): string | null {
  for (const module of modules) {
    const file = module.moduleId.slice(root.length + 1);
    for (const test of module.children.allTests('failed')) return `${file}: ${test.fullName}`;
    const [error] = [
      ...module.errors(),
      ...[...module.children.allSuites()].flatMap((s) => s.errors()),
    ];
    if (error !== undefined) return `${file}: ${error.message.split('\n')[0]}`;
  }
  return null;
}

function counts(modules: readonly TestModule[]): Pick<Answer, 'passed' | 'files'> {
  const passed = modules.reduce(
    (sum, { children }) => sum + [...children.allTests('passed')].length,
    0,
  );
  const files = modules.map((module) => ({
    file: module.moduleId.slice(root.length + 1),
    seconds: module.diagnostic().duration / 1000,
  }));
  return { passed, files };
}
