// Writes THIRD_PARTY.md: part of `pnpm docs:generate`.
import { writeFileSync } from 'node:fs';
import { DOCUMENT_PATH, thirdPartyDocument } from './document.js';
import { installedPackages } from './installed.js';

writeFileSync(DOCUMENT_PATH, thirdPartyDocument(installedPackages()));
console.log(DOCUMENT_PATH);
