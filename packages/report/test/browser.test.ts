// The pages in headless Chromium: both themes and a phone, no network, no serious finding of axe-core.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { openChromium } from '../../backend-webgpu/test/support/chromium.js';
import { writeReportFiles } from '../src/index.js';
import { compareReport, evalReport, hostileReport } from './support/reports.js';

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-pages-'));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const browser = await openChromium();
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

const configs = { four: '{ "key": { "bits": 4 } }' };
const pages = {
  comparison: { report: compareReport, charts: 2 + 2 },
  evaluation: { report: evalReport, charts: 1 + 3 * 3 },
  hostile: { report: hostileReport(), charts: 2 + 2 },
};
const views = [
  { theme: 'light', width: 1200, paper: 'rgb(255, 255, 255)' },
  { theme: 'dark', width: 1200, paper: 'rgb(20, 23, 27)' },
  { theme: 'dark', width: 390, paper: 'rgb(20, 23, 27)' },
] as const;

describe.each(Object.entries(pages))('%s', async (name, { report, charts }) => {
  const out = join(folder, name);
  const file = (await writeReportFiles(out, report, { configs }))[3] as string;

  it('is small', () => {
    expect(readFileSync(file).length).toBeLessThan(400_000);
  });

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
    // No part of the page makes it wider than the screen.
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    const boxes = await page.locator('svg').all();
    expect(boxes).toHaveLength(charts);
    for (const chart of boxes) {
      const box = await chart.boundingBox();
      expect(box?.width).toBeGreaterThan(100);
      expect(box?.height).toBeGreaterThan(40);
    }
    const picture = await page.screenshot();
    expect(picture.length).toBeGreaterThan(10_000);
    await page.evaluate(axe);
    const { violations } = (await page.evaluate('axe.run()')) as { violations: Finding[] };
    const serious = violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
    expect(serious).toEqual([]);
    expect({ said, asked }).toEqual({ said: [], asked: [pathToFileURL(file).href] });
    await page.close();
  });
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
