// The committed folder of a tiny decoder is what its writer makes.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { tinyFolderFiles } from './support/tiny-folder.js';

const folder = new URL('../../../fixtures/tiny-decoder/', import.meta.url);

it('fixtures/tiny-decoder is what scripts/write-tiny-decoder.ts writes', () => {
  const files = tinyFolderFiles();
  const entries = readdirSync(fileURLToPath(folder), { recursive: true, encoding: 'utf8' });
  const names = entries.map((name) => name.replaceAll('\\', '/'));
  expect(names.filter((name) => name !== 'onnx').sort()).toEqual(Object.keys(files).sort());
  for (const [name, bytes] of Object.entries(files))
    expect(readFileSync(new URL(name, folder)).equals(bytes), name).toBe(true);
});
