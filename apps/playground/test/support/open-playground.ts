/** The built page in headless Chromium, from memory: nothing is served, and nothing else can be asked for. */
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Rolldown } from 'vite';
import type { openChromium } from '../../../../packages/backend-webgpu/test/support/chromium.js';

type Browser = Awaited<ReturnType<typeof openChromium>>;
export type Page = Awaited<ReturnType<Browser['newPage']>>;
type PageOptions = NonNullable<Parameters<Browser['newPage']>[0]>;

/** Files of the built page by path. */
export type Site = ReadonlyMap<string, Buffer>;

const FOLDER = fileURLToPath(new URL('../..', import.meta.url));

interface Built {
  readonly site: Site;
  /** What the bundler said. */
  readonly warnings: readonly string[];
}

let built: Promise<Built> | undefined;

/** The page as it is built, once for all tests of a worker; nothing is written. */
export function buildSite(): Promise<Built> {
  built ??= buildInMemory();
  return built;
}

async function buildInMemory(): Promise<Built> {
  const warnings: string[] = [];
  const result = (await build({
    configFile: join(FOLDER, 'vite.config.ts'),
    logLevel: 'silent',
    build: {
      write: false,
      rolldownOptions: {
        onLog: (level, { message }) => level === 'warn' && warnings.push(message),
      },
    },
  })) as Rolldown.RolldownOutput;
  const site = new Map(
    result.output.map((file) => [
      file.fileName,
      Buffer.from(file.type === 'chunk' ? file.code : file.source),
    ]),
  );
  return { site, warnings };
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

/** Of a secure context there is WebGPU, of plain http there is none. In a folder: addresses must be relative. */
const HOSTS = {
  webgpu: 'https://play.invalid/some/folder/',
  none: 'http://play.invalid/some/folder/',
};

export interface OpenedPage {
  readonly page: Page;
  /** Errors of the page and its console. */
  readonly said: string[];
  /** Everything that was asked for. */
  readonly asked: string[];
  /** What of it is no file of the page. */
  readonly foreign: string[];
}

export interface OpenOptions extends PageOptions {
  readonly gpu: keyof typeof HOSTS;
  /** Of the address. */
  readonly query?: string;
}

/** Opens the page and waits until every scheme has run. */
export async function openPlayground(
  browser: Browser,
  site: Site,
  { gpu, query = '', ...options }: OpenOptions,
): Promise<OpenedPage> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  const opened: OpenedPage = { page, said: [], asked: [], foreign: [] };
  const { said, asked, foreign } = opened;
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', ({ message }) => said.push(message));
  page.on('dialog', (dialog) => said.push(dialog.message()));
  const base = HOSTS[gpu];
  await page.route('**', (route) => {
    const url = route.request().url();
    const [path = ''] = url.slice(base.length).split(/[?#]/);
    const name = path === '' ? 'index.html' : path;
    const body = url.startsWith(base) ? site.get(name) : undefined;
    asked.push(name);
    if (body !== undefined)
      return route.fulfill({
        body,
        contentType: TYPES[extname(name)] ?? 'application/octet-stream',
      });
    foreign.push(url);
    return route.abort();
  });
  await page.addInitScript(SHIFTS);
  await page.goto(`${base}${query}`);
  await settled(page);
  return opened;
}

/** Notes layout shifts, those after input too, and by how much the page was ever wider than the screen. */
const SHIFTS = `window.shifts = []; new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shifts.push({ value: entry.value, input: entry.hadRecentInput,
    what: entry.sources.map(({ node }) => (node && (node.className || node.nodeName)) + '') });
}).observe({ type: 'layout-shift', buffered: true });
window.tooWide = 0;
(function watch() {
  window.tooWide = Math.max(window.tooWide, (document.documentElement?.scrollWidth ?? 0) - innerWidth);
  requestAnimationFrame(watch);
})();`;

/** Sum of the shifts that no input explains. */
export function layoutShift(page: Page): Promise<number> {
  return page.evaluate(
    'window.shifts.filter(({ input }) => !input).reduce((sum, { value }) => sum + value, 0)',
  );
}

/** Until nothing is computed any more. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    `document.querySelectorAll('.panel').length === 8
      && document.querySelector('.panel[aria-busy=true]') === null
      && !/measuring|Packing\\.|Nothing to pack/.test(document.querySelector('#schemes').textContent)`,
    undefined,
    { timeout: 20_000 },
  );
}

/** Of everything a selector finds, a line each. */
export function textOf(page: Page, selector: string): Promise<string> {
  return page.locator(selector).evaluateAll((all) => all.map((one) => one.textContent).join('\n'));
}

/** Pixels by which the page was wider than the screen in any frame so far. */
export function widestFrame(page: Page): Promise<number> {
  return page.evaluate('window.tooWide');
}
