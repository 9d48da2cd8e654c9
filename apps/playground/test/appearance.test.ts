// How the page looks: two themes, a desktop and a phone, nothing too wide or too small, no serious finding of axe-core. With
// LOWBIT_KV_SCREENSHOTS=FOLDER pictures of all of it are written there.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openChromium } from '../../../packages/backend-webgpu/test/support/chromium.js';
import {
  axeFindings,
  NO_FAULTS,
  pageFaults,
  SMALLEST_TEXT,
} from '../../../packages/report/test/support/page-checks.js';
import {
  buildSite,
  layoutShift,
  openPlayground,
  settled,
  widestFrame,
} from './support/open-playground.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const pictures = process.env.LOWBIT_KV_SCREENSHOTS;
const [browser, { site }] = await Promise.all([openChromium(), buildSite()]);
afterAll(() => browser.close());

describe.each([
  { colorScheme: 'light', paper: 'rgb(255, 255, 255)' },
  { colorScheme: 'dark', paper: 'rgb(20, 23, 27)' },
] as const)('$colorScheme', ({ colorScheme, paper }) => {
  it.each([1280, 390])('%i pixels wide', async (width) => {
    const viewport = { width, height: 844 };
    const { page, said } = await openPlayground(browser, site, {
      gpu: 'none',
      viewport,
      colorScheme,
    });
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(paper);
    // So slow that figures come long after the click that asked for them: what they move is no answer to it.
    const session = await page.context().newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: 6 });
    await page.getByRole('button', { name: 'Write your own' }).click();
    await settled(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: 1 });
    const { smallestText, charts, ...faults } = await pageFaults(page);
    expect(faults).toEqual({ ...NO_FAULTS, charts: undefined });
    expect(charts.filter((chart) => !chart.startsWith('null'))).toEqual([]);
    expect(smallestText).toBeGreaterThanOrEqual(SMALLEST_TEXT);
    expect(await axeFindings(page, axe)).toEqual([]);
    expect(await layoutShift(page)).toBe(0);
    expect(await widestFrame(page)).toBe(0);
    expect(said).toEqual([]);
    if (pictures !== undefined) {
      const path = join(pictures, `playground-${colorScheme}-${width}.png`);
      await page.screenshot({ path, fullPage: true });
    }
    await page.close();
  });
});
