/**
 * Writes fixtures/tiny-decoder.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tinyFolderFiles } from '../test/support/tiny-folder.js';

const folder = new URL('../../../fixtures/tiny-decoder/', import.meta.url);
for (const [name, bytes] of Object.entries(tinyFolderFiles())) {
  const path = fileURLToPath(new URL(name, folder));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}
