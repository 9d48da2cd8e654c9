// The page of `compare --all` on the shipped capture: its size, and what it looks like.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openChromium } from '../../backend-webgpu/test/support/chromium.js';
import { elementsOf, shareOfToday } from '../../core/test/support/share-of-today.js';
import {
  axeFindings,
  NO_FAULTS,
  pageFaults,
  SMALLEST_TEXT,
} from '../../report/test/support/page-checks.js';
import { builtinSchemes } from '../src/schemes/builtin-schemes.js';
import { runHere } from './support/run-here.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const directory = temporaryDirectory();
const page = join(directory, 'report', 'report.html');
const browser = await openChromium();
afterAll(() => browser.close());

beforeAll(async () => {
  // Figures of fewer positions take as many bytes.
  const args = ['compare', '--all', '--positions', '1', '--out', 'report'];
  const { code, stderr } = await runHere(args, { directory });
  expect(code, stderr).toBe(0);
}, 180_000);

test('is below 400 KB, with every preset', async () => {
  const text = readFileSync(page, 'utf8');
  expect(Buffer.byteLength(text)).toBeLessThan(400_000);
  for (const { scheme } of await builtinSchemes()) expect(text).toContain(`</span> ${scheme.id} `);
});

const VIEWS = [
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
  ['dark', 390],
] as const;

test.each(elementsOf(VIEWS, shareOfToday('views of the page of all presets', 4)))(
  '%s, %i pixels wide: nothing is covered, clipped or small',
  { timeout: 120_000 },
  async (theme, width) => {
    const require = createRequire(new URL('../../report/package.json', import.meta.url));
    const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
    const view = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: theme });
    await view.goto(pathToFileURL(page).href);
    const { smallestText, ...faults } = await pageFaults(view);
    expect(faults).toEqual(NO_FAULTS);
    expect(smallestText).toBeGreaterThanOrEqual(SMALLEST_TEXT);
    expect(await axeFindings(view, axe)).toEqual([]);
    await view.close();
  },
);
