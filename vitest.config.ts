// How vitest finds and runs the tests of all packages.
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { conditions } from './vitest.conditions.js';

// A worker serves one project: few of them, or core is loaded again and again. Emulated devices have workers of their own.
const PROJECTS = {
  'backend-cuda': ['packages/backend-cuda'],
  'backend-onnx': ['packages/backend-onnx'],
  'backend-webgpu': ['packages/backend-webgpu'],
  'model-onnx': ['packages/model-onnx'],
  others: ['packages/!(backend-*|model-onnx)', 'apps/*', 'examples/*', 'tools/*', 'docs'],
};

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
    hookTimeout: 60_000,
    coverage: { include: ['packages/*/src/**/*.ts'] },
    // `extends: true` matters: without it a project does not inherit the conditions above.
    projects: Object.entries(PROJECTS).map(([name, folders]) => ({
      extends: true,
      test: {
        name,
        include: folders.map((folder) => `${folder}/test/**/*.test.ts`),
        benchmark: { include: folders.map((folder) => `${folder}/bench/**/*.bench.ts`) },
      },
    })),
  },
});
