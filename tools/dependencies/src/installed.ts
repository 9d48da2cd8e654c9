/**
 * What a user installs with the packages of the repository: their dependencies and peers, and what these depend on.
 */
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly repository: string;
  /** Packages of ours that name it; empty for what others bring. */
  readonly usedBy: readonly string[];
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string | { readonly type: string };
  readonly repository?: string | { readonly url: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Test runners are peers of the contract suite: users who run it have one. */
const NOT_SHIPPED = ['vitest'];

/** By name, then version. Builds for a platform are optional dependencies of others, and left out. */
export function installedPackages(): InstalledPackage[] {
  const found = new Map<string, { manifest: Manifest; usedBy: Set<string> }>();
  const visit = (name: string, from: string, user?: string) => {
    const folder = locate(name, from);
    const manifest = manifestIn(folder);
    const id = `${manifest.name}@${manifest.version}`;
    const known = found.get(id) ?? { manifest, usedBy: new Set<string>() };
    if (user !== undefined) known.usedBy.add(user);
    const isNew = !found.has(id);
    found.set(id, known);
    if (!isNew) return;
    for (const next of Object.keys(manifest.dependencies ?? {})) visit(next, folder);
  };
  for (const folder of readdirSync(join(ROOT, 'packages'))) {
    const path = join(ROOT, 'packages', folder);
    if (!existsSync(join(path, 'package.json'))) continue;
    const { name, dependencies = {}, peerDependencies = {} } = manifestIn(path);
    for (const next of Object.keys({ ...dependencies, ...peerDependencies })) {
      if (!isOurs(next) && !NOT_SHIPPED.includes(next)) visit(next, path, name);
    }
  }
  return [...found.values()]
    .map(({ manifest, usedBy }) => ({
      name: manifest.name,
      version: manifest.version,
      licence:
        typeof manifest.license === 'object' ? manifest.license.type : (manifest.license ?? ''),
      repository: repositoryOf(manifest),
      usedBy: [...usedBy].sort(),
    }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function isOurs(name: string): boolean {
  return name === 'lowbit-kv' || name.startsWith('@lowbit-kv/');
}

/** As Node finds it from a package's real folder. */
function locate(name: string, from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name);
    if (existsSync(join(path, 'package.json'))) return realpathSync(path);
    if (dirname(folder) === folder) throw new Error(`${name} is not installed below ${from}`);
  }
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** As a page to read. */
function repositoryOf({ repository }: Manifest): string {
  const url = typeof repository === 'object' ? repository.url : (repository ?? '');
  const path = url
    .replace(/^git\+/, '')
    .replace(/^(http:\/\/|git:\/\/|ssh:\/\/git@|git@)/, 'https://')
    .replace(/^https:\/\/github\.com:/, 'https://github.com/')
    .replace(/\.git$/, '');
  if (path === '' || path.startsWith('https://')) return path;
  return `https://github.com/${path.replace(/^github:/, '')}`;
}
