/** A directory that is removed after the tests of a file. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'lowbit-kv-cli-')));
  afterAll(() => rmSync(directory, { recursive: true }));
  return directory;
}
