/** Writes the published JSON Schemas of reports: part of `pnpm docs:generate`. */
import { writeFileSync } from 'node:fs';
import { reportSchemas } from './report-schemas.js';

for (const { path, text } of reportSchemas()) {
  writeFileSync(path, text);
  console.log(path);
}
