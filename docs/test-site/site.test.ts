// The built site: every page, every link and anchor, everything from its own folder; pages as people see them. With
// LOWBIT_KV_SCREENSHOTS=FOLDER pictures of some are written there.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, posix } from 'node:path';
import { parseHTML } from 'linkedom';
import { afterAll, describe, expect, it } from 'vitest';
import { openChromium } from '../../packages/backend-webgpu/test/support/chromium.js';
import { axeFindings, pageFaults } from '../../packages/report/test/support/page-checks.js';
import { apiPath, entryPoints } from '../src/api.js';
import { PAGES } from '../src/page-table.js';
import { isInRepository, REPOSITORY_URL, readSource } from '../src/repository.js';
import { BASE, builtSite, openSitePage } from './support/built-site.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const pictures = process.env.LOWBIT_KV_SCREENSHOTS;
const [browser, { files, seconds }] = await Promise.all([openChromium(), builtSite()]);
afterAll(() => browser.close());

const documents = new Map(
  [...files]
    .filter(([path]) => path.endsWith('.html') && !path.startsWith('playground/'))
    .map(([path, bytes]) => [path, parseHTML(bytes.toString()).document]),
);

it('has every page of the table, the reference of every entry point, the playground, and texts', () => {
  console.log(`site: ${files.size} files in ${seconds.toFixed(0)} s`);
  const pages = [
    ...PAGES.map(({ path }) => path),
    ...entryPoints().map(({ name }) => apiPath(name)),
  ];
  for (const path of pages) expect([...documents.keys()]).toContain(`${path}.html`);
  for (const path of ['playground/index.html', 'llms.txt', 'llms-full.txt', '404.html'])
    expect(files.has(path), path).toBe(true);
});

it('has no dead link and no dead anchor, and asks nothing of other sites', () => {
  const faults: string[] = [];
  let links = 0;
  for (const [path, document] of documents) {
    for (const element of document.querySelectorAll('[href], [src]')) {
      const target = element.getAttribute('href') ?? element.getAttribute('src') ?? '';
      if (target.startsWith('data:')) continue;
      const url = new URL(target, `http://site.invalid${posix.join(BASE, path)}`);
      if (url.origin !== 'http://site.invalid') {
        if (element.localName !== 'a') faults.push(`${path} loads ${target}`);
        const [, file] = target.split(`${REPOSITORY_URL}/blob/main/`);
        if (file !== undefined && !isInRepository(file.replace(/#.*/, '')))
          faults.push(`${path}: ${target}`);
        continue;
      }
      links++;
      const name = decodeURIComponent(url.pathname).slice(BASE.length);
      const file = name === '' || name.endsWith('/') ? `${name}index.html` : name;
      if (!url.pathname.startsWith(BASE) || !files.has(file)) faults.push(`${path}: ${target}`);
      const anchor = decodeURIComponent(url.hash.slice(1));
      if (anchor !== '' && documents.get(file)?.getElementById(anchor) === null)
        faults.push(`${path}: ${target}: no such anchor`);
    }
  }
  expect([...new Set(faults)]).toEqual([]);
  expect(links).toBeGreaterThan(PAGES.length * 20);
});

it('draws what documents ask for, where they ask', () => {
  let drawn = 0;
  for (const { path, source } of PAGES) {
    const asked = readSource(source).match(/^<!-- draw: .* -->$/gm) ?? [];
    const figures = documents.get(`${path}.html`)?.querySelectorAll('figure.drawing svg');
    expect(figures, path).toHaveLength(asked.length);
    drawn += asked.length;
  }
  // Groups of every scheme package, and the home page.
  expect(drawn).toBeGreaterThan(10);
});

it('finds words by itself, and opens what it found', async () => {
  const { page, foreign } = await openSitePage(browser, files, 'law.html');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('searchbox').fill('OUTLIER_CAPACITY');
  await page.locator('#localsearch-list a').first().click();
  await page.waitForURL(/#|errors|oaken/);
  expect(await page.locator('main').textContent()).toContain('OUTLIER_CAPACITY');
  expect(foreign).toEqual([]);
  await page.close();
});

it('leads to the playground, which runs there', async () => {
  const { page, said, foreign } = await openSitePage(browser, files, '');
  await page.getByRole('navigation').getByRole('link', { name: 'Playground' }).click();
  await page.locator('.panel').first().waitFor();
  expect({ said, foreign }).toEqual({ said: [], foreign: [] });
  await page.close();
});

/** Texts of drawings that their picture cuts off. */
const CUT_OFF = `[...document.querySelectorAll('.drawing svg text')].filter((text) => {
  const [inner, outer] = [text.getBoundingClientRect(), text.closest('svg').getBoundingClientRect()];
  return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 4;
}).map((text) => text.textContent)`;

const SHOWN = [
  'index',
  'concepts',
  'support-matrix',
  'schemes/kivi',
  'schemes/oaken',
  'block-format',
  'errors',
  'api/core',
];

/** Themes and widths have little to do with each other: each once, and everything where pictures are wanted. */
const LOOKS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 390 },
  ...(pictures === undefined
    ? []
    : ([
        { colorScheme: 'light', width: 390 },
        { colorScheme: 'dark', width: 1280 },
      ] as const)),
] as const;

describe.each(LOOKS)('$colorScheme, $width pixels wide', ({ colorScheme, width }) => {
  it.each(SHOWN)('%s', async (path) => {
    const viewport = { width, height: 844 };
    const { page, said, foreign } = await openSitePage(browser, files, `${path}.html`, {
      viewport,
      colorScheme,
    });
    if (pictures !== undefined) {
      const name = `site-${path.replaceAll('/', '-')}-${colorScheme}-${width}.png`;
      await page.screenshot({ path: join(pictures, name) });
      const drawing = page.locator('figure.drawing');
      if ((await drawing.count()) > 0)
        await drawing.last().screenshot({ path: join(pictures, `drawing-${name}`) });
    }
    const { tooWide, overlaps, clipped } = await pageFaults(page);
    expect({ tooWide, overlaps, clipped }).toEqual({ tooWide: 0, overlaps: [], clipped: [] });
    expect(await page.evaluate(CUT_OFF)).toEqual([]);
    // The reference has tens of thousands of elements: axe-core takes minutes.
    if (path !== 'api/core') expect(await axeFindings(page, axe)).toEqual([]);
    expect({ said, foreign }).toEqual({ said: [], foreign: [] });
    await page.close();
  });
});
