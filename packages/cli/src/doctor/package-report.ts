/**
 * Installed lowbit-kv packages and the copies of core they use.
 */
import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownDirectory, readOwnManifest } from '../manifest.js';
import { locatePackageRoot } from '../schemes/locate-module.js';

export interface PackageReport {
  readonly name: string;
  readonly version: string | null;
  readonly path: string | null;
}

export interface CoreCopy {
  readonly path: string;
  readonly version: string;
  readonly usedBy: readonly string[];
}

const CORE = '@lowbit-kv/core';

/** This command, what it depends on, and the lowbit-kv packages that the user's own package.json names. */
export function findPackages(directory: string): PackageReport[] {
  const manifest = readOwnManifest();
  const ownRoot = realpathSync(ownDirectory());
  const found = [describe(manifest.name, ownRoot)];
  const add = (name: string, from: string) => {
    const root = locatePackageRoot(name, from);
    const path = root === undefined ? null : realpathSync(root);
    if (!found.some((known) => known.name === name && known.path === path))
      found.push(path === null ? { name, version: null, path } : describe(name, path));
  };
  for (const name of ownNames(manifest.dependencies)) add(name, ownRoot);
  const user = nearestManifest(directory);
  for (const name of ownNames({ ...user?.dependencies, ...user?.devDependencies }))
    add(name, directory);
  return found;
}

/** The real copies of core that the packages resolve; more than one is a duplicate. */
export function findCoreCopies(packages: readonly PackageReport[]): CoreCopy[] {
  const copies = new Map<string, string[]>();
  for (const { name, path } of packages) {
    if (path === null) continue;
    const root = name === CORE ? path : locatePackageRoot(CORE, path);
    if (root === undefined) continue;
    const real = realpathSync(root);
    copies.set(real, [...(copies.get(real) ?? []), ...(name === CORE ? [] : [name])]);
  }
  return [...copies].map(([path, usedBy]) => ({ path, version: versionAt(path), usedBy }));
}

function ownNames(dependencies: Readonly<Record<string, string>>): string[] {
  return Object.keys(dependencies).filter((name) => /^(@lowbit-kv\/|lowbit-kv(-|$))/.test(name));
}

function describe(name: string, path: string): PackageReport {
  return { name, version: versionAt(path), path };
}

function versionAt(path: string): string {
  return JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).version;
}

interface UserManifest {
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
}

function nearestManifest(directory: string): UserManifest | undefined {
  for (let folder = directory; ; folder = dirname(folder)) {
    try {
      return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    if (dirname(folder) === folder) return undefined;
  }
}
