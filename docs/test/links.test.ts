// Links of documents lead to pages, else to the repository; what is not there is a fault. All documents are read.
import MarkdownIt from 'markdown-it';
import { describe, expect, test } from 'vitest';
import { anchorsOf, slugOf } from '../src/headings.js';
import { siteLink, siteLinks } from '../src/links.js';
import { PAGES } from '../src/page-table.js';
import { REPOSITORY_URL, readSource } from '../src/repository.js';
import { tableCells } from '../src/table-cells.js';

const context = { pages: PAGES, generated: ['api/core'] };
const from = (source: string, href: string) => siteLink(href, source, context);

test('a file that is a page, from any folder, with its anchor', () => {
  expect(from('README.md', 'packages/core/docs/law.md')).toBe('/law');
  expect(from('packages/core/docs/cache.md', 'block-format.md#3-codes-plane')).toBe(
    '/block-format#3-codes-plane',
  );
  expect(from('packages/scheme-kivi/README.md', '../../README.md')).toBe('/overview');
  expect(from('packages/core/docs/law.md', '../../../docs/index.md')).toBe('/');
});

test('a folder with a page is that page', () => {
  expect(from('README.md', 'packages/scheme-oaken')).toBe('/schemes/oaken');
  expect(from('README.md', 'packages/scheme-oaken/')).toBe('/schemes/oaken');
});

test('what is no page is a file of the repository', () => {
  expect(from('packages/core/docs/law.md', '../src/errors.ts')).toBe(
    `${REPOSITORY_URL}/blob/main/packages/core/src/errors.ts`,
  );
  expect(from('README.md', 'packages/core/src#x')).toBe(
    `${REPOSITORY_URL}/blob/main/packages/core/src#x`,
  );
});

test('other sites and generated pages are left alone', () => {
  for (const href of ['https://arxiv.org/abs/2402.02750', 'mailto:a@b.invalid', '//c.invalid/d'])
    expect(from('README.md', href)).toBe(href);
  for (const href of ['/playground/', '/api/core', '/api/core#plan', '/overview'])
    expect(from('docs/index.md', href)).toBe(href);
});

describe('faults name the document, the link and what there is', () => {
  test.each([
    ['no-such.md', /README\.md links to "no-such\.md", and there is no no-such\.md/],
    ['../outside.md', /there is no \.\.\/outside\.md/],
    ['/nowhere', /"\/nowhere", which is no page of the site/],
    ['SECURITY.md#nothing', /SECURITY\.md has no heading #nothing\. Its headings: [a-z]/],
    ['#nothing', /README\.md has no heading #nothing/],
  ])('%s', (href, message) => {
    expect(() => from('README.md', href)).toThrow(message);
  });
});

test('anchors are those of GitHub: repeated headings are counted, code and links are their text', () => {
  expect(slugOf('Keys & values: `f16`, "a_b"')).toBe('keys--values-f16-a_b');
  const text =
    '# A *b* `c`\n\n## Same\n\n## Same\n\n## [Link](x.md) é\n\n<a id="own"></a>\n\n```\n# no\n```';
  expect([...anchorsOf(text)]).toEqual(['a-b-c', 'same', 'same-1', 'link-é', 'own']);
});

describe('no document has a dead link', () => {
  const markdown = new MarkdownIt({ html: true });
  siteLinks(markdown, context);
  test.each(PAGES)('$source', ({ source }) => {
    const html = markdown.render(readSource(source), { source });
    const inner = [...html.matchAll(/href="([^"]*\.md(?:#[^"]*)?)"/g)].map(
      ([, href]) => href ?? '',
    );
    expect(inner.filter((href) => !href.startsWith('http'))).toEqual([]);
  });
});

test('cells that hold sentences are marked, others are not', () => {
  const markdown = new MarkdownIt();
  tableCells(markdown);
  const html = markdown.render(`| a | b |\n| - | - |\n| 1 | ${'word '.repeat(13)} |`);
  expect(html.match(/<td class="sentence">/g)).toHaveLength(1);
  expect(html).toContain('<td>1</td>');
});
