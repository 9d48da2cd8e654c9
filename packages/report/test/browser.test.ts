// The pages in headless Chromium: both themes, a phone and paper, no network, nothing that covers or clips, no serious finding of
// axe-core.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { openChromium } from '../../backend-webgpu/test/support/chromium.js';
import { writeReportFiles } from '../src/index.js';
import { axeFindings, NO_FAULTS, pageFaults, SMALLEST_TEXT } from './support/page-checks.js';
import {
  BENCH,
  compareReport,
  evalReport,
  HOSTILE,
  hostileBench,
  hostileEvaluation,
  hostileReport,
} from './support/reports.js';

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-pages-'));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const browser = await openChromium();
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const configs = { four: '{ "key": { "bits": 4 } }', [HOSTILE]: HOSTILE };
const pages = {
  // Accuracy, memory, speed, and a heat map of each scheme but f16.
  comparison: { report: compareReport, benches: [BENCH], charts: 3 + 2 },
  // Accuracy, and a curve and a heat map of each scheme but f16.
  evaluation: { report: evalReport, benches: [], charts: 1 + 3 * 2 },
  hostile: { report: hostileReport(), benches: [hostileBench()], charts: 3 + 2 },
  'hostile evaluation': {
    report: hostileEvaluation(),
    benches: [hostileBench()],
    charts: 1 + 1 + 3 * 2,
  },
};
const views = [
  { theme: 'light', width: 1280, paper: 'rgb(255, 255, 255)' },
  { theme: 'dark', width: 1280, paper: 'rgb(20, 23, 27)' },
  { theme: 'light', width: 390, paper: 'rgb(255, 255, 255)' },
  { theme: 'dark', width: 390, paper: 'rgb(20, 23, 27)' },
] as const;

describe.each(Object.entries(pages))('%s', async (name, { report, benches, charts }) => {
  const out = join(folder, name);
  const file = (await writeReportFiles(out, report, { configs, benches }))[3] as string;

  it.each(views)('$theme, $width pixels wide', async ({ theme, width, paper }) => {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: theme });
    const said: string[] = [];
    const asked: string[] = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', ({ message }) => said.push(message));
    page.on('dialog', (dialog) => said.push(dialog.message()));
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(pathToFileURL(file).href);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(paper);
    expect(await page.locator('svg:visible').count()).toBe(charts);
    const { smallestText, ...faults } = await pageFaults(page);
    expect(faults).toEqual(NO_FAULTS);
    expect(smallestText).toBeGreaterThanOrEqual(SMALLEST_TEXT);
    const picture = await page.screenshot();
    expect(picture.length).toBeGreaterThan(10_000);
    expect(await axeFindings(page, axe)).toEqual([]);
    expect({ said, asked }).toEqual({ said: [], asked: [pathToFileURL(file).href] });
    await page.close();
  });

  it('prints dark on white, at the width of a sheet, with nothing to scroll', async () => {
    // A4 without its margins.
    const page = await browser.newPage({
      viewport: { width: 718, height: 1000 },
      colorScheme: 'dark',
    });
    await page.emulateMedia({ media: 'print' });
    await page.goto(pathToFileURL(file).href);
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(
      'rgb(255, 255, 255)',
    );
    const { tooWide, overlaps, clipped } = await pageFaults(page);
    expect({ tooWide, overlaps, clipped }).toEqual({ tooWide: 0, overlaps: [], clipped: [] });
    const scrolling = `[...document.querySelectorAll('.scroll, pre')].filter((e) => e.getClientRects().length > 0 && getComputedStyle(e).overflowX !== 'visible').length`;
    expect(await page.evaluate(scrolling)).toBe(0);
    expect(await page.locator('.copy:visible').count()).toBe(0);
    await page.close();
  });
});

it('the checks see what is broken', async () => {
  const page = await browser.newPage({ viewport: { width: 390, height: 900 } });
  await page.setContent(`<p style="width:500px;font-size:9px">wide</p>
    <svg aria-label="chart" viewBox="0 0 1000 100" width="300"><path d="M0 0h9"/>
    <text x="10" y="50" font-size="40">one</text><text x="30" y="50" font-size="40">two</text>
    <text x="1290" y="50" font-size="40">out</text></svg>`);
  const { tooWide, smallestText, overlaps, clipped, charts } = await pageFaults(page);
  expect({ overlaps, clipped, charts }).toEqual({
    overlaps: ['chart: one and two'],
    clipped: ['chart: out'],
    charts: ['chart at 0.3'],
  });
  expect(tooWide).toBeGreaterThan(50);
  expect(smallestText).toBe(9);
  await page.close();
});

it('tables sort by figures, by the buttons that the script adds', async () => {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(join(folder, 'comparison', 'report.html')).href);
  const first = () => page.locator('table.sortable tbody th').first().textContent();
  expect(await first()).toBe('f16');
  const button = page.getByRole('button', { name: 'Bits', exact: true });
  await button.click();
  expect(await first()).toBe('two');
  await button.click();
  expect(await first()).toBe('f16');
  await page.close();
});
