/**
 * Headless Chromium with WebGPU on SwiftShader, and pages in it made of TypeScript.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { type Browser, chromium, type Page } from 'playwright-core';
import { CHEAP_ZEROS } from './dawn-switches.js';
import { unpacked } from './unpacked.js';

/** Never resolved: pages get what is routed to them. The scheme makes the page a secure context, which WebGPU asks for. */
const ORIGIN = 'https://page.invalid/';
const REPOSITORY = fileURLToPath(new URL('../../../../', import.meta.url));

export async function openChromium(): Promise<Browser> {
  // Chromium looks for the driver beside itself.
  const folder = await unpacked('chromium', 'swiftshader', 'al2023');
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    args: [
      '--no-sandbox',
      '--no-zygote',
      '--headless=shell',
      '--ignore-gpu-blocklist',
      '--enable-unsafe-webgpu',
      '--use-webgpu-adapter=swiftshader',
      `--${CHEAP_ZEROS}`,
    ],
    env: {
      ...process.env,
      LD_LIBRARY_PATH: [folder, join(folder, 'lib'), process.env.LD_LIBRARY_PATH ?? ''].join(':'),
    },
  });
}

export interface PageOptions {
  /** Paths of modules by what is imported, for example `vitest`. */
  readonly modules?: Readonly<Record<string, string>>;
  /** A document that runs `page.js`. Default: an empty one. */
  readonly html?: string;
}

/** A page that runs a module. Rejects when the module throws while it loads. */
export async function openPage(
  browser: Browser,
  entry: string,
  {
    modules = {},
    html = '<!doctype html><script type="module" src="page.js"></script>',
  }: PageOptions = {},
): Promise<Page> {
  const bundle = await build({
    entryPoints: [entry],
    alias: modules,
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['@lowbit-kv/source'],
    tsconfig: join(REPOSITORY, 'tsconfig.base.json'),
    logLevel: 'silent',
  });
  const script = bundle.outputFiles[0]?.text ?? '';
  const page = await browser.newPage();
  const errors: Error[] = [];
  page.on('pageerror', (error) => errors.push(error));
  await page.route(`${ORIGIN}**`, (route) =>
    route.request().url().endsWith('/page.js')
      ? route.fulfill({ contentType: 'text/javascript', body: script })
      : route.fulfill({ contentType: 'text/html', body: html }),
  );
  await page.goto(ORIGIN, { waitUntil: 'load' });
  if (errors.length > 0) throw errors[0];
  return page;
}
