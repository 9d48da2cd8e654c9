/**
 * Mutants that once found something, one file each: `corpus/TARGET/NAME`.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../corpus', import.meta.url));
/** Longer ones say little more, and the repository keeps them for ever. */
export const LONGEST_KEPT = 40_000;

export interface KeptMutant {
  readonly target: string;
  readonly name: string;
  readonly bytes: Uint8Array;
}

export function corpus(): KeptMutant[] {
  return readdirSync(folder).flatMap((target) =>
    readdirSync(join(folder, target)).map((name) => ({
      ...{ target, name },
      bytes: new Uint8Array(readFileSync(join(folder, target, name))),
    })),
  );
}

/** Where it lies, from the root of the package; null for one that is too long. */
export function keep(target: string, bytes: Uint8Array): string | null {
  if (bytes.length > LONGEST_KEPT) return null;
  const name = `${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}.bin`;
  mkdirSync(join(folder, target), { recursive: true });
  writeFileSync(join(folder, target, name), bytes);
  return `corpus/${target}/${name}`;
}
