/** Opens safetensors files by path, or those in memory. */
import { LowbitKvError } from '@lowbit-kv/core';
import { type ByteSource, memorySource } from './byte-source.js';
import { fileSource } from './file-source.js';
import { readSafetensors, type SafetensorsFile } from './safetensors.js';

/** Opens a file by path, or reads one that is in memory (the bytes must not change meanwhile). */
export async function openSafetensors(pathOrBytes: string | Uint8Array): Promise<SafetensorsFile> {
  return readSafetensors(await sourceOf(pathOrBytes));
}

async function sourceOf(pathOrBytes: unknown): Promise<ByteSource> {
  if (typeof pathOrBytes === 'string') return fileSource(pathOrBytes);
  if (pathOrBytes instanceof Uint8Array) return memorySource(pathOrBytes);
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'a safetensors file is given by its path or its bytes',
    value: pathOrBytes,
    valid: 'a string or a Uint8Array',
    next: 'Pass a path, or the bytes of the file.',
  });
}
