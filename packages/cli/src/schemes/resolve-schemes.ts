/**
 * Turns `--scheme` arguments into schemes and simulations: an id, a package as seen from the user's directory, or a file:
 * a module, or JSON as `tune` writes it.
 */
import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type Calibration,
  LowbitKvError,
  type Scheme,
  type SchemeSimulation,
  schemeFingerprint,
} from '@lowbit-kv/core';
import { nearest } from '../edit-distance.js';
import type { Terminal } from '../terminal.js';
import {
  BUILTIN_COMPAT,
  BUILTIN_PACKAGES,
  builtinSchemes,
  type NamedScheme,
} from './builtin-schemes.js';
import { locatePackage } from './locate-module.js';
import { readSchemeFile } from './scheme-file.js';
import { schemesOfModule } from './schemes-of-module.js';

export interface Resolved {
  readonly schemes: readonly NamedScheme[];
  readonly simulations: readonly SchemeSimulation[];
}

/**
 * What `names` name, after the whole shelf when `all` is set; without either the presets that are compared by default.
 * Says on stderr what each name led to. Throws SCHEME_NOT_FOUND or SCHEME_INVALID.
 */
export async function resolveNames(
  names: readonly string[] | undefined,
  terminal: Terminal,
  all = false,
): Promise<Resolved> {
  if (names === undefined && !all)
    return { schemes: await builtinSchemes('default'), simulations: [] };
  const builtin = await builtinSchemes();
  const schemes: NamedScheme[] = all ? [...builtin] : [];
  const simulations: SchemeSimulation[] = [];
  for (const name of names ?? []) {
    const found = await resolveName(name, builtin, terminal.directory);
    const entries = [...found.schemes.map(({ scheme }) => scheme), ...found.simulations];
    const ids = entries.map(({ id }) => id).join(', ');
    terminal.note(terminal.errColors.dim(`--scheme ${name}: ${ids} (${found.source})`));
    schemes.push(
      ...found.schemes.filter((entry) => !schemes.some((other) => isSame(entry, other))),
    );
    simulations.push(...found.simulations.filter((entry) => !simulations.includes(entry)));
  }
  return { schemes, simulations };
}

/** As `resolveNames`, where only schemes will do: throws OPTION_INVALID for a simulation. */
export async function resolveSchemes(
  names: readonly string[] | undefined,
  terminal: Terminal,
  all = false,
): Promise<readonly NamedScheme[]> {
  const { schemes, simulations } = await resolveNames(names, terminal, all);
  const [simulation] = simulations;
  if (simulation === undefined) return schemes;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'a simulation stores nothing that could be planned',
    value: simulation.id,
    valid: 'schemes',
    next: 'Compare it with `lowbit-kv compare`, or name a scheme.',
    where: { field: 'scheme' },
  });
}

/** Calibrations that came with schemes. */
export function calibrationsOf(named: readonly NamedScheme[]): Record<string, Calibration> {
  return Object.fromEntries(
    named.flatMap(({ scheme: { id }, calibration }) =>
      calibration === undefined ? [] : [[id, calibration]],
    ),
  );
}

/** Modules, and scheme files in JSON. */
const FILE = /\.([cm]?[jt]s|json)$/;

interface Found extends Resolved {
  readonly source: string;
}

async function resolveName(
  name: string,
  builtin: readonly NamedScheme[],
  directory: string,
): Promise<Found> {
  const registered = builtin.filter(({ scheme }) => scheme.id === name);
  if (registered.length > 0) return foundSchemes(registered);
  if (!looksLikePath(name)) {
    const compat = await compatById(name);
    if (compat !== undefined) return compat;
    for (const candidate of packageNames(name)) {
      const entry = locatePackage(candidate, directory);
      if (entry !== undefined) return load(entry, candidate);
      // The packages that come with this command need no second installation.
      const own = builtin.filter(({ source }) => source === candidate);
      if (own.length > 0) return foundSchemes(own);
      const authors = BUILTIN_COMPAT.get(candidate);
      if (authors !== undefined) return foundIn(await authors(), candidate);
    }
  }
  const file = [name, `${name}.js`, `${name}.mjs`]
    .map((path) => resolve(directory, path))
    .find((path) => FILE.test(path) && existsSync(path));
  if (file === undefined) throw notFound(name, builtin, directory);
  return file.endsWith('.json') ? foundSchemes([await readSchemeFile(file)]) : load(file, file);
}

/** What the authors' code of the packages that come with this command exports under an id. */
async function compatById(id: string): Promise<Found | undefined> {
  for (const [source, authors] of BUILTIN_COMPAT) {
    const all = foundIn(await authors(), source);
    const schemes = all.schemes.filter(({ scheme }) => scheme.id === id);
    const simulations = all.simulations.filter((simulation) => simulation.id === id);
    if (schemes.length + simulations.length > 0) return { schemes, simulations, source };
  }
  return undefined;
}

function foundSchemes(schemes: readonly NamedScheme[]): Found {
  return { schemes, simulations: [], source: schemes[0]?.source ?? '' };
}

function foundIn(exported: Readonly<Record<string, unknown>>, source: string): Found {
  const { schemes, simulations } = schemesOfModule(exported, source);
  return { schemes: schemes.map((scheme) => ({ scheme, source })), simulations, source };
}

/** The packages a name may stand for, in order. */
function packageNames(name: string): string[] {
  const exact = /^@[\w.-]+\/[\w./-]+$/.test(name) || name.startsWith('lowbit-kv-scheme-');
  if (exact) return [name];
  return /^[\w.-]+(\/compat)?$/.test(name)
    ? [`@lowbit-kv/scheme-${name}`, `lowbit-kv-scheme-${name}`]
    : [];
}

/** Whether `--scheme` reads a name as a path before anything else. */
export function looksLikePath(name: string): boolean {
  return /^\.{1,2}[/\\]/.test(name) || isAbsolute(name) || FILE.test(name);
}

async function load(path: string, source: string): Promise<Found> {
  let exported: Record<string, unknown>;
  try {
    exported = await import(pathToFileURL(path).href);
  } catch (cause) {
    // What `defineScheme` in the module says of the scheme, whole.
    if (LowbitKvError.is(cause)) throw cause;
    throw new LowbitKvError('SCHEME_NOT_FOUND', {
      message: 'the module of a scheme failed to load',
      value: cause instanceof Error ? cause.message : String(cause),
      valid: 'an ES module that exports a scheme',
      next: 'Run it with node to see the whole error.',
      where: { module: source },
      cause,
    });
  }
  return foundIn(exported, source);
}

function notFound(name: string, builtin: readonly NamedScheme[], directory: string): LowbitKvError {
  const ids = builtin.map(({ scheme }) => scheme.id);
  const shortNames = BUILTIN_PACKAGES.map((packageName) => packageName.replace(/^.*scheme-/, ''));
  const near = nearest(name, [...ids, ...shortNames]);
  const suggestion = near === undefined ? '' : `Did you mean "${near}"? `;
  // Of a family that is there nobody means a package of its own.
  const isOfFamily = shortNames.some((known) => name.startsWith(`${known}-`));
  const packages = packageNames(name);
  const wanted = packages[packages.length - 1];
  const exists = name !== '' && existsSync(resolve(directory, name));
  const next = exists
    ? 'There is something of this name, but a scheme is read from .js, .mjs, .cjs, .ts or .json only.'
    : looksLikePath(name)
      ? 'Check the path: it is relative to the current directory.'
      : name.endsWith('/compat')
        ? `The authors' code is there as ${[...BUILTIN_COMPAT.keys()].join(', ')}.`
        : wanted === undefined
          ? 'Name a preset, a package or a file such as ./my-scheme.js.'
          : isOfFamily
            ? 'Name one of these presets.'
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
