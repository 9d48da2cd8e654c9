// Writes the measured parts of docs/compatibility.md: part of `pnpm docs:generate`.
import { writeFileSync } from 'node:fs';
import { acceptanceRows, compatibilityDocument, documentPath } from './document.js';

writeFileSync(documentPath, await compatibilityDocument(await acceptanceRows()));
console.log(documentPath);
