/**
 * What vitepress reads: each page of the table as its source has it, at its address, beside what is generated.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ApiPage, apiPages } from './api.js';
import { llmsFull, llmsIndex } from './llms.js';
import { PAGES } from './page-table.js';
import { REPOSITORY_URL, readSource } from './repository.js';

const DOCS = fileURLToPath(new URL('..', import.meta.url));
export const STAGED = join(DOCS, 'dist/pages');

/** Writes everything anew; returns the pages of the API. */
export async function stagePages(): Promise<readonly ApiPage[]> {
  rmSync(STAGED, { recursive: true, force: true });
  for (const { path, source } of PAGES) {
    const text = readSource(source);
    const edit = { source, editAddress: `${REPOSITORY_URL}/edit/main/${source}` };
    write(`${path}.md`, withFrontmatter(text, edit));
  }
  const api = await apiPages();
  for (const { path, text } of api) write(`${path}.md`, withFrontmatter(text, { editLink: false }));
  write('api-pages.json', JSON.stringify(api.map(({ path, title }) => ({ path, title }))));
  write('public/llms.txt', llmsIndex(PAGES));
  write('public/llms-full.txt', llmsFull(PAGES));
  return api;
}

/** A document may have frontmatter of its own: ours joins it. */
function withFrontmatter(text: string, fields: Readonly<Record<string, string | boolean>>): string {
  const lines = Object.entries(fields).map(
    ([name, value]) => `${name}: ${JSON.stringify(value)}\n`,
  );
  return text.startsWith('---\n')
    ? `---\n${lines.join('')}${text.slice(4)}`
    : `---\n${lines.join('')}---\n${text}`;
}

function write(path: string, text: string): void {
  const file = join(STAGED, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
