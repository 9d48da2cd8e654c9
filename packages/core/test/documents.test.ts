// Generated content of the documents: equal to what `pnpm docs:generate` would write.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generatedDocuments } from '../scripts/documents.js';
import { fillParts } from '../scripts/generated-parts.js';

describe('generated documents are up to date (pnpm docs:generate)', async () => {
  for (const { path, text } of await generatedDocuments()) {
    it(basename(path), () => {
      expect(readFileSync(path, 'utf8')).toBe(text);
    });
  }
});

describe('fillParts', () => {
  const text = 'a\n<!-- generated: x -->\nold\n<!-- /generated -->\nb';

  it('replaces what lies between the markers and nothing else', () => {
    expect(fillParts(text, new Map([['x', 'new\n']]))).toBe(text.replace('old', 'new'));
  });

  it('refuses parts without a place and places without a part', () => {
    expect(() => fillParts(text, new Map())).toThrow('nothing generates the part x');
    const both = new Map([
      ['x', ''],
      ['y', ''],
    ]);
    expect(() => fillParts(text, both)).toThrow('lacks the parts y');
  });
});
