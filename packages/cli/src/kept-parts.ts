/**
 * Keeps finished parts of a measurement until it is finished, so that one that was interrupted goes on.
 */
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import { fileStore, type PartStore } from '@lowbit-kv/harness';
import { Interrupted, type Terminal } from './terminal.js';

export interface KeptParts {
  readonly path: string;
  readonly store: PartStore;
  /** Parts that were there before and are used. */
  taken(): number;
  /** Runs the work. An interruption says how to go on; when the work is done, another one measures again. */
  during<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Removes the parts of this work. */
  finish(): Promise<void>;
}

/**
 * In $XDG_CACHE_HOME, else in ~/.cache; several processes may share it. `fresh`: what is there is not used. Throws
 * OPTION_INVALID for a folder that cannot be written to.
 */
export async function openKeptParts(
  terminal: Terminal,
  kind: 'eval' | 'compare',
  fresh = false,
): Promise<KeptParts> {
  const { environment } = terminal;
  const cache = environment.XDG_CACHE_HOME || join(homedir(), '.cache');
  const path = join(cache, 'lowbit-kv', kind);
  await requireFolder(path);
  const files = fileStore(path);
  const keys = new Set<string>();
  let taken = 0;
  return {
    path,
    store: {
      async get(key) {
        const bytes = fresh && !keys.has(key) ? null : await files.get(key);
        if (bytes !== null && !keys.has(key)) taken++;
        if (bytes !== null) keys.add(key);
        return bytes;
      },
      async put(key, bytes) {
        await files.put(key, bytes);
        keys.add(key);
      },
    },
    taken: () => taken,
    async during(work) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof Interrupted && keys.size > 0)
          terminal.note(
            `${keys.size} finished parts are kept in ${path}: the same command goes on from there.`,
          );
        throw error;
      }
    },
    async finish() {
      await Promise.all([...keys].map((key) => files.remove(key)));
    },
  };
}

async function requireFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
    await access(path, constants.W_OK);
  } catch (cause) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: `finished parts cannot be kept in ${path}`,
      value: cause instanceof Error ? cause.message : String(cause),
      valid: 'a folder that may be written to',
      next: 'Set XDG_CACHE_HOME to one.',
      cause,
    });
  }
}
