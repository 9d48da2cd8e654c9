/** Bytes of a regular file, read by position. */
import { open, stat } from 'node:fs/promises';
import { type ByteSource, closedError, textOf } from './byte-source.js';
import { safetensorsError } from './safetensors-error.js';

// The operating system reads at most 2^31 - 4096 bytes a call, and Node refuses more than 2^31 - 1.
const LARGEST_READ = 2 ** 30;

/** Opens a regular file for positional reads; one that is written to meanwhile is refused. */
export async function fileSource(path: string): Promise<ByteSource> {
  const handle = await openRegularFile(path);
  let closed = false;
  return {
    file: path,
    size: handle.size,
    async read(position, length, tensor) {
      if (closed) throw closedError(path, tensor);
      const buffer = allocate(length, path, tensor);
      for (let done = 0; done < length; ) {
        const wanted = Math.min(length - done, LARGEST_READ);
        const { bytesRead } = await handle.file
          .read(buffer, done, wanted, position + done)
          .catch((cause: unknown) => {
            throw safetensorsError(path, {
              reason: `reading failed: ${textOf(cause)}`,
              tensor,
              cause,
            });
          });
        if (bytesRead === 0) {
          throw safetensorsError(path, {
            reason: 'the file became shorter while it was open',
            tensor,
            value: position + done,
            valid: `${handle.size} bytes, as when it was opened`,
            next: 'Open it again when nothing writes to it.',
          });
        }
        done += bytesRead;
      }
      await refuseChanged(handle, path, tensor);
      return buffer;
    },
    async close() {
      if (closed) return;
      closed = true;
      await handle.file.close();
    },
  };
}

async function openRegularFile(path: string) {
  const refuse = (cause: unknown) =>
    safetensorsError(path, {
      reason: `the file cannot be opened: ${textOf(cause)}`,
      next: 'Check the path and its permissions.',
      cause,
    });
  // Asked before opening: opening a named pipe would wait for a writer.
  const before = await stat(path).catch((cause: unknown) => {
    throw refuse(cause);
  });
  if (!before.isFile()) {
    throw safetensorsError(path, {
      reason: before.isDirectory() ? 'the path is a directory' : 'the path is not a regular file',
      valid: 'a regular file that can be read by position',
      next: 'Name the .safetensors file itself; copy a stream to a file first.',
    });
  }
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw refuse(cause);
  });
  try {
    const { size, mtimeNs } = await file.stat({ bigint: true });
    return { file, size: Number(size), modified: mtimeNs };
  } catch (cause) {
    await file.close();
    throw refuse(cause);
  }
}

/** What was read before and after would be of two files. */
async function refuseChanged(
  { file, size, modified }: Awaited<ReturnType<typeof openRegularFile>>,
  path: string,
  tensor: string | undefined,
): Promise<void> {
  const now = await file.stat({ bigint: true });
  if (now.mtimeNs === modified && Number(now.size) === size) return;
  throw safetensorsError(path, {
    reason: 'the file was written to while it was open',
    tensor,
    value: `${now.size} bytes`,
    valid: `${size} bytes, as when it was opened, and no write since`,
    next: 'Open it again when nothing writes to it; to replace a file, write a new one and rename it.',
  });
}

function allocate(length: number, file: string, tensor: string | undefined) {
  try {
    return new Uint8Array(length);
  } catch (cause) {
    throw safetensorsError(file, {
      reason: 'this many bytes do not fit one array',
      tensor,
      value: length,
      next: 'Read the tensor in parts with readRows.',
      cause,
    });
  }
}
