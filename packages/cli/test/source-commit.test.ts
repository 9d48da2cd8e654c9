// Which commit a report names: that of a checkout, none for an installed package.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sourceCommit } from '../src/source-commit.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const directory = temporaryDirectory();
const own = join(directory, 'packages', 'cli');

test('is the commit of the checkout, with a mark where files differ from it', async () => {
  mkdirSync(own, { recursive: true });
  // A repository around an installed package is the user's.
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', directory, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      encoding: 'utf8',
    });
  git('init', '-q');
  writeFileSync(join(directory, 'file'), 'one');
  git('add', '.');
  git('commit', '-q', '-m', 'one');
  const commit = git('rev-parse', 'HEAD').trim();
  expect(await sourceCommit(own)).toBeNull();
  writeFileSync(join(directory, 'pnpm-workspace.yaml'), '');
  expect(await sourceCommit(own)).toBe(commit);
  writeFileSync(join(directory, 'file'), 'two');
  expect(await sourceCommit(own)).toBe(`${commit}-dirty`);
});

test('is none without a repository', async () => {
  expect(await sourceCommit(join(directory, 'none', 'packages', 'cli'))).toBeNull();
});
