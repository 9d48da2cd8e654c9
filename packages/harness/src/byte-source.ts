/** Bytes read by position, from memory, a blob, or what else can be asked for a range. */
import { safetensorsError } from './safetensors-error.js';

export interface ByteSource {
  /** The path, or a label for bytes in memory: what errors call it. */
  readonly file: string;
  readonly size: number;
  /** A copy of `length` bytes at `position`, at the start of an ArrayBuffer of its own. */
  read(position: number, length: number, tensor?: string): Promise<Uint8Array<ArrayBuffer>>;
  close(): Promise<void>;
}

export function memorySource(bytes: Uint8Array, file = '(bytes in memory)'): ByteSource {
  let closed = false;
  return {
    file,
    size: bytes.byteLength,
    async read(position, length, tensor) {
      if (closed) throw closedError(file, tensor);
      return new Uint8Array(bytes.subarray(position, position + length));
    },
    async close() {
      closed = true;
    },
  };
}

/** A file that a visitor of a page chose: only the ranges that are asked for are read. */
export function blobSource(blob: Blob, file: string): ByteSource {
  let closed = false;
  return {
    file,
    size: blob.size,
    async read(position, length, tensor) {
      if (closed) throw closedError(file, tensor);
      const part = blob.slice(position, position + length);
      const bytes = await part.arrayBuffer().catch((cause: unknown) => {
        throw safetensorsError(file, {
          reason: `reading failed: ${textOf(cause)}`,
          tensor,
          next: 'Choose the file again: it was moved or changed.',
          cause,
        });
      });
      return new Uint8Array(bytes);
    },
    async close() {
      closed = true;
    },
  };
}

export function closedError(file: string, tensor: string | undefined) {
  return safetensorsError(file, {
    reason: 'the file was read after close()',
    tensor,
    next: 'Read before closing, or open it again.',
  });
}

export function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
