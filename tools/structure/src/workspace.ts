// Reads the workspace from disk: package folders, manifests, source files.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url));

export type Manifest = {
  readonly name?: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly license?: string;
  readonly type?: string;
  readonly gypfile?: boolean;
  readonly sideEffects?: unknown;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly files?: readonly string[];
  readonly bin?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
};

export type WorkspacePackage = {
  /** Folder name, for example `scheme-kivi`. */
  readonly folder: string;
  /** Absolute path. */
  readonly path: string;
  readonly manifest: Manifest;
};

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** The folders of `parent` that hold a `package.json`; none when `parent` does not exist. */
export function packagesIn(parent: string): WorkspacePackage[] {
  const parentPath = join(repositoryRoot, parent);
  if (!existsSync(parentPath)) return [];
  return readdirSync(parentPath)
    .map((folder) => ({ folder, path: join(parentPath, folder) }))
    .filter(({ path }) => existsSync(join(path, 'package.json')))
    .map(({ folder, path }) => ({ folder, path, manifest: readManifest(path) }));
}

export type SourceFile = {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
};

/** Every text file below `folder` with one of the extensions, in a fixed order. */
export function filesBelow(folder: string, extensions: readonly string[]): SourceFile[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => extensions.includes(extname(name)))
    .sort()
    .map((name) => join(folder, name))
    .map((path) => ({
      path: relative(repositoryRoot, path).replaceAll('\\', '/'),
      text: readFileSync(path, 'utf8'),
    }));
}
