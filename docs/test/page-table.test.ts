// Every document of the repository is a page, or left out for a reason; sources and addresses are there once.
import { expect, test } from 'vitest';
import { withAnchors } from '../src/api.js';
import { llmsFull, llmsIndex } from '../src/llms.js';
import { LEFT_OUT, PAGES } from '../src/page-table.js';
import { isInRepository, markdownFiles } from '../src/repository.js';

test('every Markdown file is a page or is left out on purpose, and not both', () => {
  const sources = PAGES.map(({ source }) => source);
  expect(markdownFiles().filter((path) => !(path in LEFT_OUT))).toEqual([...sources].sort());
});

test('what is left out is there, with a reason', () => {
  for (const [path, reason] of Object.entries(LEFT_OUT)) {
    expect(isInRepository(path), path).toBe(true);
    expect(reason, path).toMatch(/\S/);
  }
});

test('addresses are words, each once', () => {
  const paths = PAGES.map(({ path }) => path);
  expect(new Set(paths).size).toBe(paths.length);
  for (const path of paths) expect(path).toMatch(/^[a-z0-9-]+(\/[a-z0-9-]+)*$/);
  expect(paths[0]).toBe('index');
});

test('titles differ within a section', () => {
  const titles = PAGES.map(({ section, title }) => `${section}: ${title}`);
  expect(new Set(titles).size).toBe(titles.length);
});

test('llms.txt names every page once, llms-full.txt holds every document', () => {
  const index = llmsIndex(PAGES);
  const full = llmsFull(PAGES);
  for (const { path, source } of PAGES) {
    expect(index.split(`](${path}.html)`), path).toHaveLength(2);
    expect(full).toContain(`<!-- ${path}.html, from ${source} -->`);
  }
  expect(full).toContain('## 3. Codes plane');
  expect(full).not.toContain('layout: home');
});

test('headings of the reference keep the anchors of its links; code is left alone', () => {
  const text =
    '# core\n\n<a id="plan-4"></a>\n\n### Plan\n\n#### Type\n\n```sh\n# no\n```\n\n#### Type\n';
  expect(withAnchors(text)).toBe(
    '# core {#section-1}\n\n### Plan {#plan-4}\n\n#### Type {#section-2}\n\n```sh\n# no\n```\n\n#### Type {#section-3}\n',
  );
});
