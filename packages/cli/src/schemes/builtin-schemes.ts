/**
 * The presets of the scheme packages that come with this command.
 */
import type { Scheme } from '@lowbit-kv/core';

export const BUILTIN_PACKAGES: readonly string[] = [
  '@lowbit-kv/scheme-kivi',
  '@lowbit-kv/scheme-innerq',
  '@lowbit-kv/scheme-oaken',
];

export interface NamedScheme {
  readonly scheme: Scheme;
  /** Package name, or path of the file. */
  readonly source: string;
}

/** Every preset, in the order of the packages. */
export async function builtinSchemes(): Promise<NamedScheme[]> {
  const modules = await Promise.all([
    import('@lowbit-kv/scheme-kivi'),
    import('@lowbit-kv/scheme-innerq'),
    import('@lowbit-kv/scheme-oaken'),
  ]);
  return modules.flatMap(({ presets }, i) =>
    presets.map((scheme) => ({ scheme, source: BUILTIN_PACKAGES[i] as string })),
  );
}
