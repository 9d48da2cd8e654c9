/**
 * Where the repository lies: on this disk, and for links to files that are no pages.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** No manifest names a repository yet: the one place that does. */
export const REPOSITORY_URL = 'https://github.com/lowbit-kv/lowbit-kv';

/** Made by tools, or none of ours. */
const SKIPPED = new Set(['node_modules', 'dist', 'coverage', '.git', '.turbo', '.vitepress']);

/** Markdown files of the repository, by path from its root, sorted. */
export function markdownFiles(folder = ''): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : markdownFiles(path);
      return entry.isFile() && path.endsWith('.md') ? [path] : [];
    })
    .sort();
}

export function readSource(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export function isInRepository(path: string): boolean {
  return existsSync(join(ROOT, path));
}
