// The page in headless Chromium: every scheme is smaller than f16 and near it.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { openChromium, openPage } from '../../../packages/backend-webgpu/test/support/chromium.js';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const browser = await openChromium();
afterAll(() => browser.close());

it('shows bytes and errors', { timeout: 120_000 }, async () => {
  const page = await openPage(browser, path('../src/page.ts'), {
    html: readFileSync(path('../index.html'), 'utf8'),
  });
  await page.waitForSelector('body[data-done]', { timeout: 100_000 });
  expect(await page.textContent('#status')).toMatch(/^1024 tokens on /);
  const cells = await page.$$eval('#rows tr', (rows) =>
    rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent ?? '')),
  );
  expect(cells.map(([title]) => title)).toEqual([
    'f16',
    'KIVI, 4 bits, groups of 32, residual 128',
    'KIVI, 2 bits, groups of 32, residual 128',
  ]);
  const numbers = cells.map((row) =>
    row.slice(1).map((text) => Number.parseFloat(text.replaceAll(',', ''))),
  );
  // Keys and values of 1024 tokens, 2 heads, 64 channels, two bytes each.
  expect(numbers[0]).toEqual([2 * 1024 * 2 * 64 * 2, 100, 0]);
  const [, four, two] = numbers as [number[], [number, number, number], [number, number, number]];
  expect(four[1]).toBeGreaterThan(28);
  expect(four[1]).toBeLessThan(45);
  expect(two[1]).toBeGreaterThan(15);
  expect(two[1]).toBeLessThan(four[1]);
  expect(four[2]).toBeGreaterThan(0.001);
  expect(four[2]).toBeLessThan(0.2);
  expect(two[2]).toBeGreaterThan(four[2]);
  expect(two[2]).toBeLessThan(0.8);
});
