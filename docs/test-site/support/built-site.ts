/** The built site: its files, and pages of it in headless Chromium. Nothing is served, and nothing else can be asked for. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { openChromium } from '../../../packages/backend-webgpu/test/support/chromium.js';
import { ROOT } from '../../src/repository.js';

type Browser = Awaited<ReturnType<typeof openChromium>>;
type PageOptions = NonNullable<Parameters<Browser['newPage']>[0]>;

/** In a folder: the site lies anywhere. */
export const BASE = '/some/folder/';
const ORIGIN = 'http://site.invalid';

export type SiteFiles = ReadonlyMap<string, Buffer>;

/** Files by path, and the seconds that building took. */
export async function builtSite(): Promise<{
  readonly files: SiteFiles;
  readonly seconds: number;
}> {
  const folder = fileURLToPath(new URL('../../dist/tested', import.meta.url));
  const start = performance.now();
  buildAsUsersDo(folder);
  const seconds = (performance.now() - start) / 1000;
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = new Map(
    paths
      .filter((path) => statSync(join(folder, path)).isFile())
      .map((path) => [path.replaceAll('\\', '/'), readFileSync(join(folder, path))]),
  );
  return { files, seconds };
}

/** In a process of its own: vitepress brings a vite that does not run inside of a test. */
function buildAsUsersDo(folder: string): void {
  const tsx = import.meta.resolve('tsx');
  const command = ['docs/src/main.ts', '--base', BASE, '--build-only', '--out', folder];
  execFileSync(
    process.execPath,
    ['--conditions=@lowbit-kv/source', `--import=${tsx}`, ...command],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        NODE_ENV: 'production',
        TSX_TSCONFIG_PATH: join(ROOT, 'tsconfig.base.json'),
      },
      stdio: 'pipe',
    },
  );
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.txt': 'text/plain',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};

/** Opens an address below the base. `said` are errors of the page and its console, `foreign` what is no file of the site. */
export async function openSitePage(
  browser: Browser,
  files: SiteFiles,
  path: string,
  options: PageOptions = {},
) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  const said: string[] = [];
  const foreign: string[] = [];
  page.on('console', (message) => message.type() !== 'log' && said.push(message.text()));
  page.on('pageerror', ({ message }) => said.push(message));
  await page.route('**', (route) => {
    const url = new URL(route.request().url());
    const name = decodeURIComponent(url.pathname).slice(BASE.length);
    const file = name === '' || name.endsWith('/') ? `${name}index.html` : name;
    const isOurs = url.origin === ORIGIN && url.pathname.startsWith(BASE);
    const body = isOurs ? files.get(file) : undefined;
    if (body !== undefined)
      return route.fulfill({
        body,
        contentType: TYPES[extname(file)] ?? 'application/octet-stream',
      });
    foreign.push(url.href);
    return route.abort();
  });
  await page.goto(`${ORIGIN}${BASE}${path}`, { waitUntil: 'load' });
  return { page, said, foreign };
}
