/** Where finished parts of an evaluation are kept, so that an interrupted one resumes. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes by key. Keys are hex fingerprints of everything that the bytes depend on. */
export interface EvalStore {
  /** Null when there is nothing under this key. What it gives is checked: damaged bytes are reported and measured again. */
  get(key: string): Promise<Uint8Array | null>;
  /** Replaces what is there. */
  put(key: string, bytes: Uint8Array): Promise<void>;
}

export interface FileStore extends EvalStore {
  /** Nothing when there is none. */
  remove(key: string): Promise<void>;
}

/** A file per key, which appears whole or not at all. The folder is made when needed; errors of the file system pass. */
export function fileStore(directory: string): FileStore {
  const pathOf = (key: string) => join(directory, `${key}.eval`);
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
      await mkdir(directory, { recursive: true });
      const temporary = `${pathOf(key)}.${randomUUID()}.tmp`;
      try {
        const file = await open(temporary, 'wx');
        try {
          await file.writeFile(bytes);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(temporary, pathOf(key));
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    },
    remove: (key) => rm(pathOf(key), { force: true }),
  };
}
