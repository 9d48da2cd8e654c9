// One vitest project per workspace package; the project is named after its folder.
import { existsSync, readdirSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

// Tests read workspace sources through the first condition, so they need no build.
const conditions = ['@lowbit-kv/source', 'module', 'node', 'import', 'default'];

const workspaceFolders = ['packages', 'examples']
  .filter((parent) => existsSync(parent))
  .flatMap((parent) => readdirSync(parent).map((folder) => ({ name: folder, root: `${parent}/${folder}` })))
  .filter(({ root }) => existsSync(`${root}/package.json`));

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    passWithNoTests: true,
    // `extends: true` matters: without it a project does not inherit the conditions above.
    projects: workspaceFolders.map(({ name, root }) => ({
      extends: true,
      test: { name, root, include: ['test/**/*.test.ts'], benchmark: { include: ['bench/**/*.bench.ts'] } },
    })),
  },
});
