// Tests on real weights: `pnpm test:model --model DIR`.
import { defineConfig } from 'vitest/config';
import { conditions } from '../../vitest.conditions.js';

const reportFile = process.env.LOWBIT_KV_TEST_REPORT;

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    ...(reportFile && { reporters: ['default', ['json', { outputFile: reportFile }]] }),
    include: ['packages/model-onnx/test-model/**/*.test.ts'],
    // Each takes both cores, and the model.
    maxWorkers: 1,
    isolate: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
