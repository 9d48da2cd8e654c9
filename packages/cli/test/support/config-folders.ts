/** Folders of a repository with configuration files, and what commands make of them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { runHere } from './run-here.js';
import { temporaryDirectory } from './temporary-directory.js';

export interface ConfigFolders {
  /** Around the repository. */
  readonly outside: string;
  readonly root: string;
  /** A directory below the root, with these files beside it. */
  directoryWith(files: Readonly<Record<string, string>>): string;
}

export function configFolders(): ConfigFolders {
  const outside = temporaryDirectory();
  const root = join(outside, 'repository');
  mkdirSync(join(root, '.git'), { recursive: true });
  let folders = 0;
  return {
    outside,
    root,
    directoryWith(files) {
      const folder = join(root, `case-${folders++}`);
      mkdirSync(join(folder, 'below'), { recursive: true });
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
      return join(folder, 'below');
    },
  };
}

export interface Effective {
  readonly [option: string]: { readonly value: unknown; readonly source: string };
}

/** What `--print-config` says. */
export async function effective(
  args: readonly string[],
  directory: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Effective> {
  const result = await runHere([...args, '--print-config'], { directory, environment });
  expect(result.code, result.stderr).toBe(0);
  if (result.stdout.startsWith('{')) return JSON.parse(result.stdout).options;
  const rows = result.stdout.trimEnd().split('\n').slice(1);
  return Object.fromEntries(
    rows.map((row) => {
      const [name = '', value = '', source = ''] = row.split(/ {2,}/);
      return [name, { value: value === '-' ? null : JSON.parse(value), source }];
    }),
  );
}
