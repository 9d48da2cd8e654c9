// Generated content of the documents: equal to what `pnpm docs:generate` would write.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generatedDocuments } from '../scripts/documents.js';
import { foreignCodes } from '../scripts/error-examples.js';
import { fillParts } from '../scripts/generated-parts.js';
import { ERROR_CODES } from '../src/index.js';

describe('generated documents are up to date (pnpm docs:generate)', async () => {
  for (const { path, text } of await generatedDocuments()) {
    it(basename(path), () => {
      expect(readFileSync(path, 'utf8')).toBe(text);
    });
  }
});

describe('errors.md', () => {
  const text = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8');
  const sections = text.split(/^### /m).slice(1);

  it('has one section per code and no other', () => {
    const codes = sections.map((section) => section.slice(0, section.indexOf('\n')));
    expect(codes.sort()).toEqual(Object.keys(ERROR_CODES).sort());
  });

  it('says of each code what it means, its cause and what to do', () => {
    for (const section of sections) {
      const code = section.slice(0, section.indexOf('\n')) as keyof typeof ERROR_CODES;
      expect(section).toContain(ERROR_CODES[code]);
      expect(section).toMatch(/\n\*\*Cause\.\*\* \S/);
      expect(section).toMatch(/\n\*\*Do\.\*\* \S/);
    }
  });

  it('shows a message of every code that core raises', () => {
    for (const section of sections) {
      const code = section.slice(0, section.indexOf('\n')) as keyof typeof ERROR_CODES;
      if (!foreignCodes().includes(code)) expect(section).toContain(`\n\`\`\`text\n${code}: `);
    }
    expect(foreignCodes().length).toBeLessThan(19);
  });
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
