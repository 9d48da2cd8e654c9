/**
 * The site: pages that `pnpm site` staged, with links and drawings made of the repository.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { drawings } from './drawings/index.js';
import { shippedPresets } from './drawings/plans.js';
import { slugOf } from './headings.js';
import { pageAddress, siteLinks } from './links.js';
import { PAGES, SECTIONS } from './page-table.js';
import { REPOSITORY_URL } from './repository.js';
import { STAGED } from './stage.js';
import { tableCells } from './table-cells.js';

interface Staged {
  readonly path: string;
  readonly title: string;
}

const api = JSON.parse(readFileSync(join(STAGED, 'api-pages.json'), 'utf8')) as Staged[];
const presets = await shippedPresets();
const items = (pages: readonly Staged[]) =>
  pages.map(({ path, title }) => ({ text: title, link: pageAddress(path) }));

export const siteConfig = defineConfig({
  title: 'lowbit-kv',
  description:
    'Low-bit key-value caches for language models: schemes, exact bytes, measured errors.',
  lang: 'en',
  srcDir: 'dist/pages',
  outDir: 'dist/site',
  cacheDir: 'node_modules/.cache/vitepress',
  // Fonts of the system: nothing is fetched, nothing shifts.
  head: [['meta', { name: 'color-scheme', content: 'light dark' }]],
  markdown: {
    anchor: { slugify: slugOf },
    // The usual ones have too little contrast.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(markdown) {
      drawings(markdown, presets);
      tableCells(markdown);
      // The environment of vitepress names the page; its frontmatter the file it comes from.
      markdown.core.ruler.push('source-of-page', ({ env }) => {
        env.source = PAGES.find(({ path }) => `${path}.md` === env.relativePath)?.source;
      });
      siteLinks(markdown, { pages: PAGES, generated: api.map(({ path }) => path) });
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Schemes', link: '/schemes/kivi' },
      { text: 'API', link: pageAddress(api[0]?.path ?? 'index') },
      { text: 'Playground', link: '/playground/', target: '_self' },
    ],
    // Sections that fold are buttons in buttons in this theme: the long one is a sidebar of its own.
    sidebar: {
      '/': SECTIONS.map((section) => ({
        text: section,
        items: items(PAGES.filter((page) => page.section === section)),
      })),
      '/api/': [{ text: 'API', items: items(api) }],
    },
    editLink: {
      pattern: ({ frontmatter }) => String(frontmatter.editAddress ?? REPOSITORY_URL),
      text: 'The source of this page',
    },
  },
  ignoreDeadLinks: [/^\/playground\//],
});
