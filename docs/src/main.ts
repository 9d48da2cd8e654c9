/**
 * `pnpm site [--base PATH] [--port N] [--build-only [--out FOLDER]]`: builds the site and serves it.
 */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serve } from 'vitepress';
import { buildSite, SITE } from './site.js';

const USAGE = 'Usage: pnpm site [--base /PATH/] [--port N] [--build-only [--out FOLDER]]';

function options() {
  try {
    return parseArgs({
      options: {
        base: { type: 'string', default: '/' },
        out: { type: 'string', default: SITE },
        port: { type: 'string', default: '4173' },
        'build-only': { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(reason: string): never {
  console.error(`site: ${reason}\n  ${USAGE}`);
  process.exit(2);
}

const { base, out, port, 'build-only': buildOnly } = options();
if (!/^\/(.*\/)?$/.test(base)) refuse(`--base ${base} has to begin and end with a slash.`);
if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
  refuse(`--port ${port} is no port: 0 to 65535.`);
if (out !== SITE && !buildOnly) refuse('--out goes with --build-only.');
await buildSite(base, resolve(process.env.INIT_CWD ?? '.', out));
console.log(`site: built into ${out}`);
if (!buildOnly)
  await serve({ root: fileURLToPath(new URL('..', import.meta.url)), base, port: Number(port) });
