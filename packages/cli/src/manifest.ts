/**
 * Where this package lies and what its package.json says; the same from src/ and from dist/.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
}

export function ownDirectory(): string {
  return fileURLToPath(new URL('..', import.meta.url));
}

export function readOwnManifest(): Manifest {
  return JSON.parse(readFileSync(join(ownDirectory(), 'package.json'), 'utf8'));
}
