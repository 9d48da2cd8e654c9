// The backend passes the contract suite of core in Chromium: a seventh of it a day, since shaders and their compiler are those
// of contract.test.ts, and all of it with LOWBIT_KV_WHOLE_CONTRACT=1.
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { shareOfToday } from '../../../core/test/support/share-of-today.js';
import { openChromium, openPage } from '../support/chromium.js';

declare const contract: typeof import('./collected-tests.js');

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const browser = await openChromium();
afterAll(() => browser.close());
const page = await openPage(browser, path('contract.page.ts'), {
  modules: { vitest: path('collected-tests.ts') },
});
await page.waitForFunction(() => 'contract' in globalThis);
const names = await page.evaluate(() => contract.testNames());

const { part, of } = shareOfToday('the contract in Chromium', 7);

for (const [index, name] of names.entries()) {
  if (index % of !== part) continue;
  it(name, { timeout: 120_000 }, async (context) => {
    const outcome = await page.evaluate((test) => contract.runTest(test), index);
    if (outcome === 'skipped') context.skip();
    expect(outcome).toBe('passed');
  });
}
