// The backend passes the contract suite of core in Chromium: of its plans a twelfth a day, since shaders and their compiler are
// those of contract.test.ts, and all of them with LOWBIT_KV_WHOLE_CONTRACT=1.
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { openChromium, openPage } from '../support/chromium.js';
import { shareOfToday } from '../support/share-of-today.js';

declare const contract: typeof import('./collected-tests.js');

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const browser = await openChromium();
afterAll(() => browser.close());
const page = await openPage(browser, path('contract.page.ts'), {
  modules: { vitest: path('collected-tests.ts') },
});
await page.waitForFunction(() => 'contract' in globalThis);
const names = await page.evaluate(() => contract.testNames());

const { part, of } = shareOfToday('plans of the contract in Chromium', 12);

for (const [index, name] of names.entries()) {
  if (name.startsWith('plan: ') && index % of !== part) continue;
  it(name, { timeout: 120_000 }, async (context) => {
    const outcome = await page.evaluate((test) => contract.runTest(test), index);
    if (outcome === 'skipped') context.skip();
    expect(outcome).toBe('passed');
  });
}
