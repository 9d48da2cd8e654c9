// The built page as a whole: its size, WebGPU on SwiftShader beside the CPU, links, and motion that is not wanted.
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { openChromium } from '../../../packages/backend-webgpu/test/support/chromium.js';
import {
  buildSite,
  layoutShift,
  openPlayground,
  settled,
  textOf,
} from './support/open-playground.js';

const [browser, { site, warnings }] = await Promise.all([openChromium(), buildSite()]);
afterAll(() => browser.close());

describe('the files', () => {
  it('are built without a warning, and stay small', () => {
    expect(warnings).toEqual([]);
    const sizes = [...site].filter(([name]) => /\.(js|css|html)$/.test(name));
    const bytes = sizes.reduce((sum, [, body]) => sum + gzipSync(body).length, 0);
    expect(bytes).toBeLessThan(300_000);
    // What is needed before the first panel.
    const first = sizes.filter(([name]) => !/webgpu/.test(name));
    expect(first).toHaveLength(sizes.length - 1);
  });
});

describe('with WebGPU', () => {
  it('says on what it runs, and compares bytes and times with the CPU', async () => {
    const { page, said, foreign } = await openPlayground(browser, site, { gpu: 'webgpu' });
    expect(await textOf(page, '.where')).toMatch(/^Everything runs on WebGPU: .*swiftshader/i);
    const times = await page.locator('#schemes .times').allTextContents();
    const measured = times.filter((line) => line !== '');
    expect(measured).toHaveLength(2);
    for (const line of measured)
      expect(line).toMatch(
        /^WebGPU: packed in [\d.]+ ms, one query in [\d.]+ ms\. CPU reference: [\d.]+ ms and [\d.]+ ms, the same bytes\.$/,
      );
    expect(await layoutShift(page)).toBe(0);
    expect(await page.evaluate(FIRST_PAINT)).toBeLessThan(1000);
    await page.getByText('CPU', { exact: true }).click();
    await settled(page);
    expect(await textOf(page, '.where')).toMatch(/^Everything runs on the CPU.* as you chose/);
    expect((await page.locator('#schemes .times').first().textContent()) ?? '').toMatch(
      /^CPU reference: .* WebGPU: .*the same bytes/,
    );
    expect({ said, foreign }).toEqual({ said: [], foreign: [] });
    await page.close();
  });
});

it('plays in whole packs where motion is not wanted', async () => {
  const { page } = await openPlayground(browser, site, { gpu: 'none', reducedMotion: 'reduce' });
  await page.getByRole('button', { name: 'Play' }).click();
  await page.getByText('After 256 tokens').first().waitFor();
  await page.close();
});

it('a link that says something wrong is told so, as text', async () => {
  const query = `?schemes=${encodeURIComponent('<img src=x>')},kivi-2bit-g32&layer=no`;
  const { page, said } = await openPlayground(browser, site, { gpu: 'none', query });
  expect(await textOf(page, '.notes')).toMatch(/“no”.*“<img src=x>”/s);
  expect(said).toEqual([]);
  await page.close();
});

/** Milliseconds. */
const FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime";
