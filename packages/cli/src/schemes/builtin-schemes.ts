/**
 * The shelf: presets of the scheme packages that come with this command.
 */
import type { Calibration, Scheme } from '@lowbit-kv/core';

type Module = Readonly<Record<string, unknown>>;

interface ShelfPackage {
  readonly name: string;
  readonly load: () => Promise<{ readonly presets: readonly Scheme[] }>;
  /** Whether `compare` takes it when nothing is named. */
  readonly byDefault: boolean;
}

/** In the order of every list and table. A package needs a line here and one in the dependencies of this package. */
const SHELF: readonly ShelfPackage[] = [
  shelved('kivi', () => import('@lowbit-kv/scheme-kivi'), true),
  shelved('innerq', () => import('@lowbit-kv/scheme-innerq'), true),
  shelved('oaken', () => import('@lowbit-kv/scheme-oaken'), true),
  shelved('bitdecoding', () => import('@lowbit-kv/scheme-bitdecoding')),
  shelved('rotated', () => import('@lowbit-kv/scheme-rotated')),
  shelved('turboquant', () => import('@lowbit-kv/scheme-turboquant')),
  shelved('kvquant', () => import('@lowbit-kv/scheme-kvquant')),
  shelved('lowbit', () => import('@lowbit-kv/scheme-lowbit')),
  shelved('baselines', () => import('@lowbit-kv/scheme-baselines')),
];

/** What reproduces the authors' code; named with `/compat` or by its id, never taken by default. */
export const BUILTIN_COMPAT: ReadonlyMap<string, () => Promise<Module>> = new Map(
  Object.entries({
    '@lowbit-kv/scheme-kivi/compat': () => import('@lowbit-kv/scheme-kivi/compat'),
    '@lowbit-kv/scheme-innerq/compat': () => import('@lowbit-kv/scheme-innerq/compat'),
    '@lowbit-kv/scheme-oaken/compat': () => import('@lowbit-kv/scheme-oaken/compat'),
  }),
);

export const BUILTIN_PACKAGES: readonly string[] = SHELF.map(({ name }) => name);

export interface NamedScheme {
  readonly scheme: Scheme;
  /** Package name, or path of the file. */
  readonly source: string;
  /** What a scheme file holds beside its scheme. */
  readonly calibration?: Calibration;
}

/** Every preset of the shelf, or of the packages that are compared by default, in the order of the packages. */
export async function builtinSchemes(which: 'all' | 'default' = 'all'): Promise<NamedScheme[]> {
  const chosen = SHELF.filter(({ byDefault }) => which === 'all' || byDefault);
  const loaded = await Promise.all(
    chosen.map(async ({ name, load }) => {
      const { presets } = await load();
      return presets.map((scheme) => ({ scheme, source: name }));
    }),
  );
  return loaded.flat();
}

function shelved(word: string, load: ShelfPackage['load'], byDefault = false): ShelfPackage {
  return { name: `@lowbit-kv/scheme-${word}`, load, byDefault };
}
