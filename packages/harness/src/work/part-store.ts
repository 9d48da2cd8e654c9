/** Where finished parts of a measurement are kept, so that an interrupted one resumes. */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { notWritten, writeWhole } from '../write-whole.js';

/** Bytes by key. Keys are hex fingerprints of everything that the bytes depend on. */
export interface PartStore {
  /** Null when there is nothing under this key. What it gives is checked: damaged bytes are reported and measured again. */
  get(key: string): Promise<Uint8Array | null>;
  /** Replaces what is there. */
  put(key: string, bytes: Uint8Array): Promise<void>;
}

export interface FileStore extends PartStore {
  /** Nothing when there is none. */
  remove(key: string): Promise<void>;
}

/**
 * A file per key, which appears whole or not at all: several processes may share a folder. It is made when needed. Writing throws
 * FILE_NOT_WRITTEN; errors of reading pass.
 */
export function fileStore(directory: string): FileStore {
  const pathOf = (key: string) => join(directory, `${key}.part`);
  return {
    async get(key) {
      try {
        return await readFile(pathOf(key));
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
        throw error;
      }
    },
    async put(key, bytes) {
      await mkdir(directory, { recursive: true }).catch((cause: unknown) => {
        throw notWritten(directory, cause);
      });
      await writeWhole(pathOf(key), bytes);
    },
    remove: (key) => rm(pathOf(key), { force: true }),
  };
}
