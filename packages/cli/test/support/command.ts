/**
 * The command as tests start it: as `pnpm build` left it, which starts in a quarter of the time, where no source of any package
 * is newer; else from its sources through tsx.
 */
import { readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const PACKAGES = path('../../../');

const changed = readdirSync(PACKAGES).find((name) => !isBuilt(join(PACKAGES, name)));
if (changed !== undefined)
  process.stderr.write(`commands run from sources: packages/${changed} is newer than its build\n`);

function isBuilt(folder: string): boolean {
  const built = statSync(join(folder, 'dist/index.js'), { throwIfNoEntry: false });
  if (built === undefined) return false;
  const inputs = ['package.json', 'src'].map((name) => join(folder, name));
  return inputs.every((input) => newest(input) < built.mtimeMs);
}

function newest(input: string): number {
  const { mtimeMs } = statSync(input);
  if (!statSync(input).isDirectory()) return mtimeMs;
  return readdirSync(input).reduce(
    (latest, name) => Math.max(latest, newest(join(input, name))),
    mtimeMs,
  );
}

const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** What node needs for a program that imports packages of the workspace. */
export const NODE_FLAGS: readonly string[] =
  changed === undefined ? [] : ['--conditions=@lowbit-kv/source', `--import=${tsx}`];

/** Arguments of node that run the command. */
export const COMMAND_ARGUMENTS: readonly string[] = [
  ...NODE_FLAGS,
  path(changed === undefined ? '../../dist/main.js' : '../../src/main.ts'),
];

const { NO_COLOR: _noColor, FORCE_COLOR: _forceColor, ...inherited } = process.env;
/** The environment that they need. */
export const COMMAND_ENVIRONMENT = {
  ...inherited,
  TSX_TSCONFIG_PATH: path('../../../../tsconfig.base.json'),
};
