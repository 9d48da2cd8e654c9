/**
 * Every document with generated content, as it should be.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { schemeJsonSchema } from '../src/index.js';
import { blockParts } from './block-examples.js';
import { errorParts } from './error-examples.js';
import { fillParts } from './generated-parts.js';
import { snapshotParts } from './snapshot-example.js';

export interface GeneratedDocument {
  readonly path: string;
  readonly text: string;
}

export async function generatedDocuments(): Promise<GeneratedDocument[]> {
  const path = (name: string) => fileURLToPath(new URL(`../docs/${name}`, import.meta.url));
  const filled = (name: string, parts: ReadonlyMap<string, string>) => ({
    path: path(name),
    text: fillParts(readFileSync(path(name), 'utf8'), parts),
  });
  return [
    filled('block-format.md', new Map([...blockParts(), ...snapshotParts()])),
    filled('errors.md', await errorParts()),
    {
      path: path('scheme.schema.json'),
      text: `${JSON.stringify(schemeJsonSchema(), null, 2)}\n`,
    },
  ];
}
