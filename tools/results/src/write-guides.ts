// Fills figures into the guides and the READMEs of schemes: part of `pnpm docs:generate`.
import { writeFileSync } from 'node:fs';
import { guideDocuments } from './guide-parts.js';

for (const { path, text } of await guideDocuments()) {
  writeFileSync(path, text);
  console.log(path);
}
