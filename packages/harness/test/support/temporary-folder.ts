/** A folder for the files of one test file, removed afterwards. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-harness-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
