/** Files that are there whole or not at all, also after a crash or a loss of power. */
import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/**
 * Writes a file through a temporary one beside it, which is synchronised, then renamed; removed on failure. Content in parts
 * is asked for one at a time. Errors of the file system, and what `content` throws, pass.
 */
export async function writeWhole(
  path: string,
  content: string | Uint8Array | Iterable<string | Uint8Array>,
): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(temporary, 'wx');
    try {
      const whole = typeof content === 'string' || content instanceof Uint8Array;
      for (const part of whole ? [content] : content) await file.writeFile(part);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    // What made the write fail may make this fail.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
