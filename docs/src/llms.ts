/**
 * The site as plain text for language models: `llms.txt` lists the pages, `llms-full.txt` holds them.
 */
import { SECTIONS, type SitePage } from './page-table.js';
import { readSource } from './repository.js';

const TITLE = `# lowbit-kv

> Low-bit key-value caches for language models, in TypeScript: schemes as data, the same bytes on every backend, errors measured.
`;

/** Addresses are relative: the site lies anywhere. */
export function llmsIndex(pages: readonly SitePage[]): string {
  const sections = SECTIONS.map((section) => {
    const lines = pages
      .filter((page) => page.section === section)
      .map(
        ({ path, title, source }) =>
          `- [${title}](${path}.html): ${firstSentence(source) || title}`,
      );
    return `## ${section}\n\n${lines.join('\n')}\n`;
  });
  return [TITLE, ...sections].join('\n');
}

export function llmsFull(pages: readonly SitePage[]): string {
  const texts = pages.map(
    ({ path, source }) => `<!-- ${path}.html, from ${source} -->\n\n${bodyOf(source).trim()}\n`,
  );
  return [TITLE, ...texts].join('\n');
}

function bodyOf(source: string): string {
  return readSource(source).replace(/^---\n[\s\S]*?\n---\n/, '');
}

/** Of the first paragraph that is plain text. */
function firstSentence(source: string): string {
  const paragraph = bodyOf(source)
    .replace(/^```[\s\S]*?^```$/gm, '')
    .split(/\n\s*\n/)
    .map((part) => part.trim())
    .find((part) => /^[\p{L}`*[]/u.test(part));
  const line = (paragraph ?? '').replace(/\s+/g, ' ').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return /^.*?\.(?=\s|$)/.exec(line)?.[0] ?? line;
}
