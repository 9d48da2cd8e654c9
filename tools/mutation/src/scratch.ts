// The copy of the working tree in which sources are broken.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { repositoryRoot } from './mutant.js';

/** What core's tests read outside core. */
const folders = ['packages/core', 'fixtures', 'package.json', 'tsconfig.base.json'];

// One worker that keeps its modules: most of a run is loading them.
const configuration = `export default {
  test: {
    root: 'packages/core',
    include: ['test/**/*.test.ts'],
    setupFiles: ['mutation-setup.mjs'],
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

/** The commit of what is copied; `-dirty` with changes that are not committed. */
export function copiedCommit(): string {
  const git = (...words: string[]) =>
    execFileSync('git', words, { cwd: repositoryRoot, encoding: 'utf8' }).trim();
  const changes = git('status', '--porcelain', '--', ...folders);
  return git('rev-parse', '--short', 'HEAD') + (changes === '' ? '' : '-dirty');
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
  const installed = 'packages/core/node_modules';
  cpSync(join(repositoryRoot, installed), join(root, installed), {
    recursive: true,
    verbatimSymlinks: true,
  });
  writeFileSync(join(root, 'vitest.config.mjs'), configuration);
  writeFileSync(join(root, 'packages/core/mutation-setup.mjs'), setup);
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}
