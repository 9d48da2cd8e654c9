/**
 * Files that are not whole yet. Each belongs to one download of one process of one machine or container, which may share the
 * cache with others; what a process left behind goes to the next of its machine that wants the same file.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';

/** Processes of other machines and containers have the numbers of ours. */
const HERE = createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
/** Of this process, those that a download is writing. */
const busy = new Set<string>();

export class PartFile {
  readonly path: string;
  #size: number;

  private constructor(path: string, size: number) {
    this.path = path;
    this.#size = size;
  }

  /** Takes over what is there of the file `key`, or starts with nothing. */
  static async claim(folder: string, key: string): Promise<PartFile> {
    await mkdir(folder, { recursive: true });
    const own = freeName(folder, key);
    busy.add(own);
    const left = (await readdir(folder)).filter((name) => isLeft(folder, name, key));
    for (const name of left) await take(join(folder, name), own);
    return new PartFile(own, await sizeOf(own));
  }

  /** Bytes on disk. */
  get size(): number {
    return this.#size;
  }

  /** Writes pieces behind what is there; `written` is told the bytes of each. */
  async append(pieces: AsyncIterable<Uint8Array>, written: (bytes: number) => void): Promise<void> {
    const file = await open(this.path, 'a');
    try {
      for await (const piece of pieces) {
        await file.appendFile(piece);
        this.#size += piece.length;
        written(piece.length);
      }
    } finally {
      await file.close();
    }
  }

  async clear(): Promise<void> {
    await rm(this.path, { force: true });
    this.#size = 0;
  }

  /** The whole file gets its name, at once. */
  async finish(target: string): Promise<void> {
    await mkdir(dirname(target), { recursive: true });
    // Nothing was ever written of a file of no bytes, and what a process left behind may not be on the disk yet.
    const file = await open(this.path, 'a');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(this.path, target);
  }

  /** Leaves what is there to a later download. */
  release(): void {
    busy.delete(this.path);
  }
}

function freeName(folder: string, key: string): string {
  for (let number = 0; ; number++) {
    const path = join(folder, `${key}.${HERE}-${process.pid}-${number}.part`);
    if (!busy.has(path)) return path;
  }
}

/** Whether this is a part of the file `key` that no download writes any more. */
function isLeft(folder: string, name: string, key: string): boolean {
  if (!name.startsWith(`${key}.`)) return false;
  const [, host, owner] = /^([\da-f]{8})-(\d+)-\d+\.part$/.exec(name.slice(key.length + 1)) ?? [];
  if (host !== HERE || owner === undefined) return false;
  if (Number(owner) === process.pid) return !busy.has(join(folder, name));
  return !isRunning(Number(owner));
}

/** Of several parts the last one stays. */
async function take(left: string, own: string): Promise<void> {
  try {
    await rename(left, own);
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

function isRunning(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    // A process of somebody else runs as well.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
