/** The JSON Schemas of reports as they are published, as files below `packages/harness/schemas`. */
import { fileURLToPath } from 'node:url';
import {
  benchReportJsonSchema,
  compareReportJsonSchema,
  evalReportJsonSchema,
} from '../src/index.js';

export function reportSchemas(): { readonly path: string; readonly text: string }[] {
  return Object.entries({
    'bench-report': benchReportJsonSchema(),
    'compare-report': compareReportJsonSchema(),
    'eval-report': evalReportJsonSchema(),
  }).map(([name, schema]) => ({
    path: fileURLToPath(new URL(`../schemas/${name}.schema.json`, import.meta.url)),
    text: `${JSON.stringify(schema, null, 2)}\n`,
  }));
}
