// Runs as a child process in a scratch copy: keeps one vitest, and runs test files whenever it is asked to.
import { join } from 'node:path';
import {
  BaseSequencer,
  createVitest,
  type Reporter,
  type TestModule,
  type TestSpecification,
} from 'vitest/node';
import type { Answer, Request } from './suite.js';

/** Keeps the order in which files were asked for. */
class GivenOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files;
  }
}

const root = process.cwd();
/** Of the run in progress: what vitest remembers of earlier runs does not count. */
let answer: { -readonly [Key in keyof Answer]: Answer[Key] } = emptyAnswer();

const collector: Reporter = {
  onTestCaseResult(test) {
    const { state } = test.result();
    if (state === 'passed') answer.passed++;
    if (state === 'failed') answer.failed ??= `${nameOf(test.module)}: ${test.fullName}`;
  },
  onTestModuleEnd(module) {
    const suites = [...module.children.allSuites()];
    const [error] = [...module.errors(), ...suites.flatMap((suite) => suite.errors())];
    if (error !== undefined) answer.failed ??= `${nameOf(module)}: ${error.message.split('\n')[0]}`;
  },
};

const vitest = await createVitest('test', {
  config: join(root, 'vitest.config.mjs'),
  watch: false,
  bail: 1,
  reporters: [collector],
  sequence: { sequencer: GivenOrder },
});
await vitest.standalone();
const specifications = await vitest.globTestSpecifications();

process.on('message', async ({ changed, files, only }: Request) => {
  for (const source of changed) vitest.invalidateFile(join(root, source));
  answer = emptyAnswer();
  if (only === undefined) vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(new RegExp(only));
  const wanted = files.map(specificationOf);
  const { unhandledErrors } = await vitest.runTestSpecifications(wanted);
  process.send?.({ ...answer, errors: unhandledErrors.map(String) });
});
process.send?.(answer);

function emptyAnswer(): Answer {
  return { failed: null, errors: [], passed: 0 };
}

function nameOf(module: TestModule): string {
  return module.moduleId.slice(root.length + 1);
}

function specificationOf(file: string): TestSpecification {
  const found = specifications.find(({ moduleId }) => moduleId === join(root, file));
  if (found === undefined) throw new Error(`no such test file: ${file}`);
  return found;
}
