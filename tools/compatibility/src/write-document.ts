// Writes the generated parts of docs/compatibility.md and docs/support-matrix.md: part of `pnpm docs:generate`.
import { writeFileSync } from 'node:fs';
import { acceptanceRows, compatibilityDocument, documentPath } from './document.js';
import { matrixDocument, matrixPath, matrixRows } from './support-matrix.js';

writeFileSync(matrixPath, matrixDocument(await matrixRows()));
console.log(matrixPath);
writeFileSync(documentPath, await compatibilityDocument(await acceptanceRows()));
console.log(documentPath);
