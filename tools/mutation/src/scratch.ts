// The copy of the working tree in which sources are broken.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { repositoryRoot } from './mutant.js';

/** What the tests read. */
const folders = [
  'packages',
  'fixtures',
  'package.json',
  'tsconfig.base.json',
  'vitest.conditions.ts',
];

// One worker that keeps its modules: most of a run is loading them.
const configuration = `import { conditions } from './vitest.conditions.js';
export default {
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    setupFiles: ['packages/core/mutation-setup.mjs'],
    testTimeout: 120_000,
    isolate: false,
    maxWorkers: 1,
    fileParallelism: false,
  },
};
`;

// That a property fails is enough; the smallest example of it would take minutes.
const setup = `import fc from 'fast-check';
fc.configureGlobal({ endOnFailure: true });
`;

/** What is copied, as it is committed: null where changes are not. */
export function copiedTree(): string | null {
  if (copiedCommit().endsWith('-dirty')) return null;
  const trees = folders.map((folder) => git('rev-parse', `HEAD:${folder}`));
  return createHash('sha256').update(trees.join()).digest('hex').slice(0, 12);
}

/** The commit of what is copied; `-dirty` with changes that are not committed. */
export function copiedCommit(): string {
  const changes = git('status', '--porcelain', '--', ...folders);
  return git('rev-parse', '--short', 'HEAD') + (changes === '' ? '' : '-dirty');
}

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: repositoryRoot, encoding: 'utf8' }).trim();
}

/** Copies what git would (so no build output) into a new folder, with the packages that are installed here. */
export function makeScratch(): { root: string; remove: () => void } {
  const root = mkdtempSync(join(tmpdir(), 'lowbit-kv-mutation-'));
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...folders],
    { cwd: repositoryRoot, encoding: 'utf8', maxBuffer: 2 ** 26 },
  );
  for (const file of listed.split('\0')) {
    const from = join(repositoryRoot, file);
    if (file === '' || !existsSync(from)) continue;
    mkdirSync(dirname(join(root, file)), { recursive: true });
    cpSync(from, join(root, file));
  }
  symlinkSync(join(repositoryRoot, 'node_modules'), join(root, 'node_modules'));
  // Links to packages of the workspace are relative: they lead to the copies.
  for (const name of readdirSync(join(root, 'packages'))) {
    const installed = join('packages', name, 'node_modules');
    if (existsSync(join(repositoryRoot, installed)))
      cpSync(join(repositoryRoot, installed), join(root, installed), {
        recursive: true,
        verbatimSymlinks: true,
      });
  }
  writeFileSync(join(root, 'vitest.config.mjs'), configuration);
  writeFileSync(join(root, 'packages/core/mutation-setup.mjs'), setup);
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}
