/**
 * Finds a package as Node would from the user's directory: by its name, never by searching.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Path of the entry of a package as seen from `directory`, or undefined when it is not installed there. */
export function locatePackage(name: string, directory: string): string | undefined {
  try {
    return createRequire(join(directory, 'package.json')).resolve(name);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'MODULE_NOT_FOUND') return undefined;
    // Packages whose exports know only `import`.
    if (code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') return locateImportEntry(name, directory);
    throw error;
  }
}

/** Root of an installed package as seen from `directory`. */
export function locatePackageRoot(name: string, directory: string): string | undefined {
  for (let folder = directory; ; folder = dirname(folder)) {
    const root = join(folder, 'node_modules', name);
    if (existsSync(join(root, 'package.json'))) return root;
    if (dirname(folder) === folder) return undefined;
  }
}

function locateImportEntry(name: string, directory: string): string | undefined {
  const root = locatePackageRoot(name, directory);
  if (root === undefined) return undefined;
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entry = importTarget(exports?.['.'] ?? exports);
  return entry === undefined ? undefined : join(root, entry);
}

function importTarget(target: unknown): string | undefined {
  if (typeof target === 'string') return target;
  if (typeof target !== 'object' || target === null) return undefined;
  for (const [condition, value] of Object.entries(target)) {
    if (!['import', 'module-sync', 'node', 'default'].includes(condition)) continue;
    const found = importTarget(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
