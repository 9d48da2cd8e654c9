/**
 * Builds the whole site: documents, reference, playground.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as buildPlayground } from 'vite';
import { build } from 'vitepress';
import { ROOT } from './repository.js';
import { stagePages } from './stage.js';

const DOCS = fileURLToPath(new URL('..', import.meta.url));
export const SITE = join(DOCS, 'dist/site');

/** `base` is the path that the site lies under, such as `/lowbit-kv/`; the folder is made anew. */
export async function buildSite(base: string, folder: string): Promise<void> {
  await stagePages();
  await build(DOCS, { base, outDir: folder });
  // Its addresses are relative: it does not ask for the base.
  await buildPlayground({
    configFile: join(ROOT, 'apps/playground/vite.config.ts'),
    logLevel: 'warn',
    build: { outDir: join(folder, 'playground'), emptyOutDir: true },
  });
}
