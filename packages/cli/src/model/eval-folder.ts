/**
 * Keeps finished parts of an evaluation until it is finished, so that one that was interrupted goes on.
 */
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import { type EvalStore, fileStore } from '@lowbit-kv/harness';
import type { Terminal } from '../terminal.js';

export interface EvalFolder {
  readonly path: string;
  readonly store: EvalStore;
  /** Parts of this evaluation that are there. */
  kept(): number;
  /** Removes them: another evaluation measures again. */
  finish(): Promise<void>;
}

/** In $XDG_CACHE_HOME, else in ~/.cache. `fresh`: what is there is not used. Throws OPTION_INVALID. */
export async function openEvalFolder(
  { environment }: Terminal,
  fresh: boolean,
): Promise<EvalFolder> {
  const cache = environment.XDG_CACHE_HOME || join(homedir(), '.cache');
  const path = join(cache, 'lowbit-kv', 'eval');
  await requireFolder(path);
  const files = fileStore(path);
  const keys = new Set<string>();
  return {
    path,
    store: {
      async get(key) {
        const bytes = fresh && !keys.has(key) ? null : await files.get(key);
        if (bytes !== null) keys.add(key);
        return bytes;
      },
      async put(key, bytes) {
        await files.put(key, bytes);
        keys.add(key);
      },
    },
    kept: () => keys.size,
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
