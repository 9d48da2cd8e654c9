// Tests on the built site, documents and playground: `pnpm test:site`.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { conditions } from '../vitest.conditions.js';

const reportFile = process.env.LOWBIT_KV_TEST_REPORT;

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    ...(reportFile && { reporters: ['default', ['json', { outputFile: reportFile }]] }),
    include: ['docs/{test,test-site}/**/*.test.ts', 'apps/playground/test/**/*.test.ts'],
    // A browser and a build take both cores.
    maxWorkers: 1,
    isolate: false,
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
});
