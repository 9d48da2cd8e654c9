/**
 * The commit that this command was built or run from, where its sources lie in their repository.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ownDirectory } from './manifest.js';

/**
 * Hash, with `-dirty` where files differ from it. Null for an installed package: the repository around that is the user's; and
 * where git is missing. `directory` is that of this package.
 */
export function sourceCommit(directory: string = ownDirectory()): Promise<string | null> {
  const repository = join(directory, '..', '..');
  // As in the repository of lowbit-kv, a worktree of it included.
  if (!existsSync(join(repository, '.git')) || !existsSync(join(repository, 'pnpm-workspace.yaml')))
    return Promise.resolve(null);
  const args = ['-C', repository, 'describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'];
  return new Promise((resolve) => {
    execFile('git', args, (error, stdout) => {
      const [commit = ''] = error === null ? stdout.trim().split('\n') : [];
      resolve(/^[0-9a-f]{40,}(-dirty)?$/.test(commit) ? commit : null);
    });
  });
}
