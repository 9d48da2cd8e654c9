/**
 * Drawings in documents: the comment `<!-- draw: NAME ARGUMENTS -->` on a line of its own becomes a figure.
 */
import type { Scheme } from '@lowbit-kv/core';
import { SiteFault } from '../links.js';
import type { MarkdownRules } from '../markdown-rules.js';
import { drawBands } from './bands.js';
import { drawBlock } from './block.js';
import { drawGroups } from './groups.js';
import { drawPages } from './pages.js';
import { figure, type Picture } from './picture.js';
import type { Presets } from './plans.js';
import { drawPacking, drawWindows } from './windows.js';

interface Drawing {
  /** Valid values of the argument after the preset, if it takes one. */
  readonly values?: readonly string[];
  /** Null where a preset has nothing of the kind. */
  readonly draw: (scheme: Scheme, value: string) => Picture | null;
}

export const DRAWINGS: Readonly<Record<string, Drawing>> = {
  groups: { draw: drawGroups },
  windows: { draw: drawWindows },
  bands: { draw: drawBands },
  pages: { draw: drawPages },
  packing: { draw: drawPacking },
  block: {
    values: ['keys', 'values'],
    draw: (scheme, value) => drawBlock(scheme, value as 'keys' | 'values'),
  },
};

const COMMENT = /^\s*<!--\s*draw:\s*(.*?)\s*-->\s*$/;

/** The figure of a request such as `block kivi-4bit-g32 keys`. Throws SiteFault with the valid words. */
export function drawing(request: string, presets: Presets): string {
  const [name = '', preset = '', ...rest] = request.split(/\s+/);
  const refuse = (what: string, got: string, valid: Iterable<string>): never => {
    throw new SiteFault(
      `the drawing ${JSON.stringify(request)} has ${what} ${JSON.stringify(got)}; valid: ${[...valid].join(', ')}. Correct the comment.`,
    );
  };
  const kind = Object.hasOwn(DRAWINGS, name) ? DRAWINGS[name] : undefined;
  if (kind === undefined) return refuse('the unknown name', name, Object.keys(DRAWINGS));
  const scheme = presets.get(preset);
  if (scheme === undefined) return refuse('the unknown preset', preset, presets.keys());
  const expected = kind.values === undefined ? 0 : 1;
  if (rest.length !== expected || (kind.values && !kind.values.includes(rest[0] as string)))
    return refuse('the arguments', rest.join(' '), kind.values ?? ['none']);
  const value = rest[0] ?? '';
  const picture = kind.draw(scheme, value);
  if (picture !== null) return figure(picture);
  const able = [...presets].filter(([, other]) => kind.draw(other, value) !== null);
  return refuse(
    'a preset without it',
    preset,
    able.map(([id]) => id),
  );
}

/** Draws what comments of a document ask for. Throws SiteFault for a request that is not on a line of its own. */
export function drawings(markdown: MarkdownRules, presets: Presets): void {
  markdown.core.ruler.push('drawings', ({ tokens }) => {
    for (const token of tokens) {
      const request = token.type === 'html_block' ? COMMENT.exec(token.content)?.[1] : undefined;
      if (request !== undefined) token.content = `${drawing(request, presets)}\n`;
      else [token, ...(token.children ?? [])].forEach(refuseMisplaced);
    }
  });
}

function refuseMisplaced({ type, content }: { readonly type: string; readonly content: string }) {
  if (!type.startsWith('html') || !/<!--\s*draw\b/.test(content)) return;
  throw new SiteFault(
    `${JSON.stringify(content.trim())} is not drawn here. Write it on a line of its own: <!-- draw: NAME PRESET -->.`,
  );
}
