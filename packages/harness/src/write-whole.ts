/** Files that are there whole or not at all, also after a crash or a loss of power. */
import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { LowbitKvError } from '@lowbit-kv/core';

type Piece = string | Uint8Array;

/** Whole, or in pieces that are asked for one at a time. */
export type FileContent = Piece | Iterable<Piece> | AsyncIterable<Piece>;

/**
 * Writes a file through a temporary one beside it, which is synchronised, then renamed; removed on failure. Throws
 * FILE_NOT_WRITTEN, and what `content` throws.
 */
export async function writeWhole(path: string, content: FileContent): Promise<void> {
  await writeTogether([[path, content]]);
}

/**
 * Writes files that belong together: none gets its name before all are written, and then they get them in this order. Throws as
 * `writeWhole` does; all are as they were then, unless it is a rename that failed.
 */
export async function writeTogether(
  files: Iterable<readonly [path: string, content: FileContent]>,
): Promise<void> {
  const written: { readonly path: string; readonly temporary: string }[] = [];
  try {
    for (const [path, content] of files) {
      const temporary = `${path}.${randomUUID()}.tmp`;
      written.push({ path, temporary });
      await writeSynchronised(path, temporary, content);
    }
    for (const { path, temporary } of written) await onDisk(path, () => rename(temporary, path));
  } catch (error) {
    // What made the write fail may make this fail.
    for (const { temporary } of written)
      await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function writeSynchronised(
  path: string,
  temporary: string,
  content: FileContent,
): Promise<void> {
  const file = await onDisk(path, () => open(temporary, 'wx'));
  try {
    for await (const piece of isPiece(content) ? [content] : content)
      await onDisk(path, () => file.writeFile(piece));
    await onDisk(path, () => file.sync());
  } finally {
    await onDisk(path, () => file.close());
  }
}

function isPiece(content: FileContent): content is Piece {
  return typeof content === 'string' || content instanceof Uint8Array;
}

async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw notWritten(path, cause);
  }
}

const NEXT: Readonly<Record<string, string>> = {
  ENOSPC: 'Make room on its disk, or choose another path, and run it again.',
  EDQUOT: 'Make room in your quota, or choose another path, and run it again.',
  EACCES: 'Choose a path that you may write to.',
  EPERM: 'Choose a path that you may write to.',
  EROFS: 'Choose a path on a disk that may be written to.',
  ENOENT: 'Make its folder first, or choose another path.',
  ENOTDIR: 'Choose another path: a part of this one is a file.',
  EISDIR: 'Choose another path: this one is a folder.',
  EMFILE: 'Raise the limit of open files (ulimit -n), and run it again.',
};

/** FILE_NOT_WRITTEN for an error of the file system. */
export function notWritten(path: string, cause: unknown): LowbitKvError {
  const { code = '', message = String(cause) } = cause as NodeJS.ErrnoException;
  return new LowbitKvError('FILE_NOT_WRITTEN', {
    message: `a file cannot be written: ${message}`,
    value: path,
    valid: 'a path in a folder that exists, may be written to and has room',
    next: NEXT[code] ?? 'See what is wrong with its disk, or choose another path.',
    where: { file: path },
    cause,
  });
}
