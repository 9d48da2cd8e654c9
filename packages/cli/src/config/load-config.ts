/**
 * Finds and loads a configuration file: lowbit-kv.config in the user's directory or, in a repository, above it up to the root.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, extname, join, resolve } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import type { Terminal } from '../terminal.js';
import { CONFIG_FILE_VARIABLE } from './variables.js';

export const CONFIG_NAMES = ['ts', 'mts', 'js', 'mjs', 'json'].map(
  (extension) => `lowbit-kv.config.${extension}`,
);

export interface LoadedConfig {
  readonly path: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** `named`: a path; undefined: search. Says on stderr which file it is before it runs. Throws CONFIG_INVALID. */
export async function loadConfig(
  named: string | undefined,
  terminal: Terminal,
): Promise<LoadedConfig | undefined> {
  const path = named === undefined ? findConfig(terminal) : resolve(terminal.directory, named);
  if (path === undefined) return undefined;
  terminal.note(terminal.errColors.dim(`configuration: ${path}`));
  const content = await contentOf(path);
  if (typeof content === 'object' && content !== null && !Array.isArray(content))
    return { path, content: content as Record<string, unknown> };
  throw invalid(
    path,
    'a configuration is an object',
    content,
    'export default defineConfig({ ... })',
  );
}

function findConfig({ directory, environment }: Terminal): string | undefined {
  const chosen = environment[CONFIG_FILE_VARIABLE] ?? '';
  if (chosen !== '') return resolve(directory, chosen);
  for (const folder of searched(resolve(directory))) {
    const found = CONFIG_NAMES.map((name) => join(folder, name)).filter((path) => existsSync(path));
    if (found.length > 1)
      throw invalid(folder, 'there are several configuration files', found, 'one of them');
    if (found.length === 1) return found[0];
  }
  return undefined;
}

/** Outside a repository only the directory itself: a configuration is code, and folders above may be anybody's. */
function searched(directory: string): string[] {
  const folders = [directory];
  for (let folder = directory; !existsSync(join(folder, '.git')); ) {
    folder = dirname(folder);
    if (folder === folders.at(-1)) return [directory];
    folders.push(folder);
  }
  return folders;
}

async function contentOf(path: string): Promise<unknown> {
  try {
    if (extname(path) === '.json') return JSON.parse(await readFile(path, 'utf8'));
    const [{ createJiti }, lowbitKv] = await Promise.all([import('jiti'), import('../index.js')]);
    const jiti = createJiti(path, {
      // `npx lowbit-kv` is not installed where the file lies.
      virtualModules: { 'lowbit-kv': lowbitKv },
      moduleCache: false,
      // Its default is a folder that other users may write to.
      fsCache: false,
    });
    const exported = await jiti.import<{ readonly default?: unknown }>(path);
    return exported.default;
  } catch (cause) {
    const value = cause instanceof Error ? cause.message : String(cause);
    throw invalid(path, 'the configuration does not load', value, 'a readable file', cause);
  }
}

function invalid(
  file: string,
  message: string,
  value: unknown,
  valid: string,
  cause?: unknown,
): LowbitKvError {
  return new LowbitKvError('CONFIG_INVALID', {
    message,
    value,
    valid,
    next: 'Correct it, name another file with --config-file, or leave it out with --no-config-file.',
    where: { file },
    cause,
  });
}

/** `name`: as it stands in the file. */
export function invalidSetting(
  file: string,
  name: string,
  value: unknown,
  valid: string,
): LowbitKvError {
  return new LowbitKvError('CONFIG_INVALID', {
    message: `the setting ${name} is not valid`,
    value,
    valid,
    next: 'Settings are as the options of the command: see its --help.',
    where: { file },
  });
}
