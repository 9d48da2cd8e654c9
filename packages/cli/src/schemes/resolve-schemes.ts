/**
 * Turns `--scheme` arguments into schemes: a preset id, a package as seen from the user's directory, or a file: a module,
 * or JSON as `tune` writes it.
 */
import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LowbitKvError, type Scheme, schemeFingerprint } from '@lowbit-kv/core';
import { nearest } from '../edit-distance.js';
import type { Terminal } from '../terminal.js';
import { BUILTIN_PACKAGES, builtinSchemes, type NamedScheme } from './builtin-schemes.js';
import { locatePackage } from './locate-module.js';
import { readSchemeFile } from './scheme-file.js';
import { schemesOfModule } from './schemes-of-module.js';

/**
 * The schemes of `names`, after the whole shelf when `all` is set; without either the presets that are compared by default.
 * Says on stderr what each name led to. Throws SCHEME_NOT_FOUND or SCHEME_INVALID.
 */
export async function resolveSchemes(
  names: readonly string[] | undefined,
  terminal: Terminal,
  all = false,
): Promise<NamedScheme[]> {
  if (names === undefined && !all) return builtinSchemes('default');
  const builtin = await builtinSchemes();
  const resolved: NamedScheme[] = all ? [...builtin] : [];
  for (const name of names ?? []) {
    const found = await resolveScheme(name, builtin, terminal.directory);
    const source = found[0]?.source ?? '';
    const ids = found.map(({ scheme }) => scheme.id).join(', ');
    terminal.note(terminal.errColors.dim(`--scheme ${name}: ${ids} (${source})`));
    resolved.push(...found.filter((entry) => !resolved.some((other) => isSame(entry, other))));
  }
  return resolved;
}

/** Modules, and scheme files in JSON. */
const FILE = /\.([cm]?[jt]s|json)$/;

async function resolveScheme(
  name: string,
  builtin: readonly NamedScheme[],
  directory: string,
): Promise<NamedScheme[]> {
  const registered = builtin.filter(({ scheme }) => scheme.id === name);
  if (registered.length > 0) return registered;
  if (!looksLikePath(name)) {
    for (const candidate of packageNames(name)) {
      const entry = locatePackage(candidate, directory);
      if (entry !== undefined) return load(entry, candidate);
      // The packages that come with this command need no second installation.
      const own = builtin.filter(({ source }) => source === candidate);
      if (own.length > 0) return own;
    }
  }
  const file = [name, `${name}.js`, `${name}.mjs`]
    .map((path) => resolve(directory, path))
    .find((path) => FILE.test(path) && existsSync(path));
  if (file !== undefined) return file.endsWith('.json') ? readSchemeFile(file) : load(file, file);
  throw notFound(name, builtin);
}

/** The packages a name may stand for, in order. */
function packageNames(name: string): string[] {
  const exact = /^@[\w.-]+\/[\w.-]+$/.test(name) || name.startsWith('lowbit-kv-scheme-');
  if (exact) return [name];
  return /^[\w.-]+$/.test(name) ? [`@lowbit-kv/scheme-${name}`, `lowbit-kv-scheme-${name}`] : [];
}

function looksLikePath(name: string): boolean {
  return /^\.{1,2}[/\\]/.test(name) || isAbsolute(name) || FILE.test(name);
}

async function load(path: string, source: string): Promise<NamedScheme[]> {
  let exported: Record<string, unknown>;
  try {
    exported = await import(pathToFileURL(path).href);
  } catch (cause) {
    throw new LowbitKvError('SCHEME_NOT_FOUND', {
      message: 'the module of a scheme failed to load',
      value: cause instanceof Error ? cause.message : String(cause),
      valid: 'an ES module that exports a scheme',
      next: 'Run it with node to see the whole error.',
      where: { module: source },
      cause,
    });
  }
  return schemesOfModule(exported, source).map((scheme) => ({ scheme, source }));
}

function notFound(name: string, builtin: readonly NamedScheme[]): LowbitKvError {
  const ids = builtin.map(({ scheme }) => scheme.id);
  const shortNames = BUILTIN_PACKAGES.map((packageName) => packageName.replace(/^.*scheme-/, ''));
  const near = nearest(name, [...ids, ...shortNames]);
  const suggestion = near === undefined ? '' : `Did you mean "${near}"? `;
  const packages = packageNames(name);
  const wanted = packages[packages.length - 1];
  const next = looksLikePath(name)
    ? 'Check the path: it is relative to the current directory.'
    : wanted === undefined
      ? 'Name a preset, a package or a file such as ./my-scheme.js.'
      : `If it is a package, install it here: npm install ${wanted}`;
  return new LowbitKvError('SCHEME_NOT_FOUND', {
    message: 'no preset, package or file has this name',
    value: name,
    valid: ids,
    next: `${suggestion}${next}`,
  });
}

/** A preset that was named twice counts once; different schemes of one id are left for the registry to refuse. */
function isSame(a: NamedScheme, b: NamedScheme): boolean {
  return a.scheme.id === b.scheme.id && sameData(a.scheme, b.scheme);
}

function sameData(a: Scheme, b: Scheme): boolean {
  return schemeFingerprint(a) === schemeFingerprint(b);
}
