/**
 * Writes the generated parts of the documents: `pnpm docs:generate`.
 */
import { writeFileSync } from 'node:fs';
import { generatedDocuments } from './documents.js';

for (const { path, text } of await generatedDocuments()) {
  writeFileSync(path, text);
  console.log(path);
}
