/**
 * The files beside a model that hold its weights: in the model's folder, or in memory. Locations are those of the model
 * file, relative to it.
 */
import { createReadStream } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import { isAbsolute, posix, relative, resolve, win32 } from 'node:path';
import { invalidModel } from './invalid.js';

/** One read gives less than 2 GiB. */
const READ_LIMIT = 2 ** 30;

export interface ExternalFiles {
  /** Bytes of a file. Throws MODEL_INVALID when it is missing or may not be read. */
  size(location: string): Promise<number>;
  read(location: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  stream(location: string): AsyncIterable<Uint8Array>;
}

/** Files of one folder and of folders in it; links that lead out of it are refused. */
export class FolderFiles implements ExternalFiles {
  readonly #folder: string;
  /** Of files that were met, when they were last written to. */
  readonly #modified = new Map<string, bigint>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async size(location: string): Promise<number> {
    return (await stat(await this.#pathOf(location))).size;
  }

  async read(location: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    const file = await open(await this.#pathOf(location));
    try {
      const bytes = new Uint8Array(length);
      for (let done = 0; done < length; ) {
        const piece = Math.min(length - done, READ_LIMIT);
        const { bytesRead } = await file.read(bytes, done, piece, offset + done);
        if (bytesRead === 0) throw tooShort(location, offset + length, offset + done);
        done += bytesRead;
      }
      await this.#pathOf(location);
      return bytes;
    } finally {
      await file.close();
    }
  }

  async *stream(location: string): AsyncIterable<Uint8Array> {
    yield* createReadStream(await this.#pathOf(location)) as AsyncIterable<Uint8Array>;
    await this.#pathOf(location);
  }

  /** Throws MODEL_INVALID for a file that is not there or not below the folder, or that has changed since it was first met. */
  async #pathOf(location: string): Promise<string> {
    const path = resolve(this.#folder, insideFolder(location, this.#folder));
    let real: string;
    try {
      real = await realpath(path);
    } catch (cause) {
      throw invalidModel({
        message: `external data of the model is missing: ${location}, searched in ${this.#folder}`,
        value: location,
        valid: 'the files that the model names, beside it under their own names',
        next: `Put ${location} into ${this.#folder}.`,
        cause,
      });
    }
    const inside = relative(await realpath(this.#folder), real);
    if (inside.startsWith('..') || isAbsolute(inside))
      throw leavesFolder(location, this.#folder, `it is a link to ${real}`);
    const found = await stat(real, { bigint: true });
    if (!found.isFile()) {
      throw invalidModel({
        message: `external data of the model is no file: ${location}`,
        value: location,
        valid: 'the files that the model names, beside it under their own names',
        next: `Put the file ${location} into ${this.#folder}.`,
      });
    }
    const known = this.#modified.get(location) ?? found.mtimeNs;
    this.#modified.set(location, known);
    if (known !== found.mtimeNs) throw changed(location, this.#folder);
    return real;
  }
}

/** Files given as bytes; a leading './' of names and locations is the same as none. */
export class MemoryFiles implements ExternalFiles {
  readonly #files: ReadonlyMap<string, Uint8Array>;

  constructor(files: Readonly<Record<string, Uint8Array>>) {
    this.#files = new Map(
      Object.entries(files).map(([name, data]) => [posix.normalize(name), data]),
    );
  }

  async size(location: string): Promise<number> {
    return this.#file(location).length;
  }

  async read(location: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return Uint8Array.from(this.#file(location).subarray(offset, offset + length));
  }

  async *stream(location: string): AsyncIterable<Uint8Array> {
    yield this.#file(location);
  }

  #file(location: string): Uint8Array {
    const file = this.#files.get(insideFolder(location, 'the model'));
    if (file !== undefined) return file;
    throw invalidModel({
      message: `external data of the model is missing: ${location} was not given with its bytes`,
      value: location,
      valid: [...this.#files.keys()],
      next: 'Give the bytes of every file that the model names.',
    });
  }
}

/** The location without './', when it stays in the folder. */
function insideFolder(location: string, folder: string): string {
  if (posix.isAbsolute(location) || win32.isAbsolute(location)) {
    throw invalidModel({
      message: 'external data of the model has an absolute path, which is refused',
      value: location,
      valid: 'paths relative to the model file, in its folder',
      next: 'Save the model again with its external data beside it.',
    });
  }
  const normal = posix.normalize(location.replaceAll('\\', '/'));
  if (normal === '..' || normal.startsWith('../')) throw leavesFolder(location, folder);
  return normal;
}

function leavesFolder(location: string, folder: string, why?: string) {
  return invalidModel({
    message: `external data leaves the model folder ${folder}, which is refused${why === undefined ? '' : `: ${why}`}`,
    value: location,
    valid: 'files in the folder of the model or below it',
    next: 'Copy the file itself into the folder: caches of hubs hold links in its place. Or save the model again with its external data beside it.',
  });
}

function changed(location: string, folder: string) {
  return invalidModel({
    message: `external data of the model was written to while it was read: ${location}, in ${folder}`,
    value: location,
    valid: 'files that nothing writes to',
    next: 'Open the model again when nothing writes to its folder.',
  });
}

export function tooShort(location: string, needed: number, size: number) {
  return invalidModel({
    message: `external data is cut off: ${location} needs ${needed} bytes, file has ${size}`,
    value: size,
    valid: `at least ${needed} bytes`,
    next: 'Fetch the file again; a renamed file of another model gives this error too.',
  });
}
