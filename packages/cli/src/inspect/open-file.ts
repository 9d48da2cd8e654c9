/**
 * A file that is read in parts, and what its first bytes say it is.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { LowbitKvError } from '@lowbit-kv/core';

export interface InspectedFile {
  readonly path: string;
  readonly size: number;
  read(offset: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

export type FileKind = 'snapshot' | 'safetensors' | 'json' | 'unknown';

/** Throws OPTION_INVALID. */
export async function openFile(path: string): Promise<InspectedFile> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path);
    const { size } = await handle.stat();
    const opened = handle;
    // A folder opens, and fails at the first read.
    await opened.read(new Uint8Array(1), 0, 1, 0);
    return {
      path,
      size,
      async read(offset, length) {
        const bytes = new Uint8Array(Math.max(Math.min(length, size - offset), 0));
        const { bytesRead } = await opened.read(bytes, 0, bytes.length, offset);
        return bytes.subarray(0, bytesRead);
      },
      close: () => opened.close(),
    };
  } catch (cause) {
    await handle?.close();
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'the file cannot be read',
      value: path,
      valid: 'a file',
      next: `Check the path (${cause instanceof Error ? cause.message : String(cause)}).`,
      where: { field: 'file' },
      cause,
    });
  }
}

export async function kindOf(file: InspectedFile): Promise<FileKind> {
  const first = await file.read(0, 64);
  const text = Buffer.from(first).toString('latin1');
  if (text.startsWith('LBKV')) return 'snapshot';
  // The upper half of a header length is zero, which text never has.
  const lengthFirst = first.length > 8 && first.subarray(4, 8).every((byte) => byte === 0);
  if (/\.safetensors$/.test(file.path) || (lengthFirst && /^\s*\{/.test(text.slice(8))))
    return 'safetensors';
  return /^\s*[[{]/.test(text) || /\.json$/.test(file.path) ? 'json' : 'unknown';
}
