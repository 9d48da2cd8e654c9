/**
 * The cache: a folder per repository and commit, and a list of what in it is whole.
 */
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeWhole } from '@lowbit-kv/harness';
import * as z from 'zod';
import { downloadError } from './failure.js';
import { commitSchema, type RepositoryFile, repositoryFileSchema } from './listing.js';
import type { CheckedOptions } from './options.js';

const recordSchema = z.strictObject({
  /** All files of the repository at the commit. */
  listing: z.array(repositoryFileSchema),
  /** Path of a model that is whole, and of the external data it names. */
  models: z.record(z.string(), z.array(z.string())),
});
export type SnapshotRecord = z.infer<typeof recordSchema>;

/** Folders of one repository in the cache. */
export class RepositoryCache {
  readonly #root: string;

  constructor({ cacheDir, endpoint, repository }: CheckedOptions) {
    // Another endpoint may serve something else under the same name and commit.
    const host = endpoint.replace(/^https?:\/\//, '').replaceAll(/[^\w.-]/g, '_');
    this.#root = join(cacheDir, host, ...repository.split('/'));
  }

  snapshot(commit: string): string {
    return join(this.#root, 'snapshots', commit);
  }

  /** Of parts of files of a commit. */
  parts(commit: string): string {
    return join(this.#root, 'parts', commit);
  }

  /** The commit that the revision stood for when it was last asked, or null. Throws MODEL_DOWNLOAD. */
  async readReference(revision: string): Promise<string | null> {
    const text = await readIfAny(this.#referencePath(revision));
    return text === null ? null : this.#parsed(commitSchema, text, this.#referencePath(revision));
  }

  async writeReference(revision: string, commit: string): Promise<void> {
    await writeAtOnce(this.#referencePath(revision), JSON.stringify(commit));
  }

  /** Null when nothing of the commit is whole. Throws MODEL_DOWNLOAD when the record is damaged. */
  async readRecord(commit: string): Promise<SnapshotRecord | null> {
    const text = await readIfAny(this.#recordPath(commit));
    return text === null ? null : this.#parsed(recordSchema, text, this.#recordPath(commit));
  }

  async writeRecord(commit: string, record: SnapshotRecord): Promise<void> {
    await writeAtOnce(this.#recordPath(commit), JSON.stringify(record));
  }

  /** Whether all files are there with their sizes; they were checked byte by byte before they got their names. */
  async holds(commit: string, files: readonly RepositoryFile[]): Promise<boolean> {
    const present = await Promise.all(
      files.map(async ({ path, size }) => (await sizeOf(this.pathOf(commit, path))) === size),
    );
    return present.every(Boolean);
  }

  pathOf(commit: string, path: string): string {
    return join(this.snapshot(commit), ...path.split('/'));
  }

  #recordPath(commit: string): string {
    return join(this.#root, 'records', `${commit}.json`);
  }

  #referencePath(revision: string): string {
    return join(this.#root, 'references', `${encodeURIComponent(revision)}.json`);
  }

  #parsed<T>(schema: z.ZodType<T>, text: string, path: string): T {
    try {
      return schema.parse(JSON.parse(text));
    } catch (cause) {
      throw downloadError({
        message: 'a file of the cache is damaged',
        value: path,
        valid: 'what fetchModel wrote there',
        next: `Remove ${this.#root} and run it again.`,
        cause,
      });
    }
  }
}

async function readIfAny(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function writeAtOnce(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeWhole(path, text);
}
