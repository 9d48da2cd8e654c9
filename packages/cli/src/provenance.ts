/** Who measures: version, machine and command line, as reports and shards say them. */
import { availableParallelism } from 'node:os';
import { readOwnManifest } from './manifest.js';
import type { Terminal } from './terminal.js';

export interface Provenance {
  /** Such as `lowbit-kv 0.1.0`. */
  readonly version: string;
  readonly machine: string;
  readonly command?: string;
}

export function ownVersion(): string {
  return `lowbit-kv ${readOwnManifest().version}`;
}

export function provenanceOf({ commandLine }: Terminal): Provenance {
  return {
    version: ownVersion(),
    machine: `${process.platform} ${process.arch}, ${availableParallelism()} cores, node ${process.version}`,
    ...(commandLine !== undefined && { command: commandLine }),
  };
}
