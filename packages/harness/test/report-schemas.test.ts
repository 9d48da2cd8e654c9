// The published JSON Schemas are what the code says (pnpm docs:generate).
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { reportSchemas } from '../scripts/report-schemas.js';

it.each(reportSchemas().map(({ path, text }) => [basename(path), path, text] as const))(
  '%s is current and closed',
  (_, path, text) => {
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(JSON.parse(text)).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      properties: { reportVersion: { const: 1 } },
      additionalProperties: false,
    });
  },
);
