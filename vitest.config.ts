// One vitest project per workspace package; the project is named after its folder.
import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Tests read workspace sources through the first condition, so they need no build.
const conditions = ['@lowbit-kv/source', 'module', 'node', 'import', 'default'];

const workspaceFolders = ['packages', 'examples', 'tools']
  .filter((parent) => existsSync(parent))
  .flatMap((parent) =>
    readdirSync(parent).map((folder) => ({ name: folder, root: `${parent}/${folder}` })),
  )
  .filter(({ root }) => existsSync(`${root}/package.json`));

// CI counts from vitest's own report: a JSON file besides the usual output.
const reportFile = process.env.LOWBIT_KV_TEST_REPORT;

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    ...(reportFile && { reporters: ['default', ['json', { outputFile: reportFile }]] }),
    // One less by default: half the machine where there are two cores.
    maxWorkers: availableParallelism(),
    // Files of a project share the modules of a worker: importing them again for each takes as long as many tests.
    isolate: false,
    // Property tests share two cores in CI.
    testTimeout: 30_000,
    coverage: { include: ['packages/*/src/**/*.ts'] },
    // `extends: true` matters: without it a project does not inherit the conditions above.
    projects: workspaceFolders.map(({ name, root }) => ({
      extends: true,
      test: {
        name,
        root,
        include: ['test/**/*.test.ts'],
        benchmark: { include: ['bench/**/*.bench.ts'] },
      },
    })),
  },
});
