/**
 * Fetches what a decoder needs from a model hub into a cache, once per commit.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fromBinary } from '@bufbuild/protobuf';
import { ModelProtoSchema } from 'onnx-buf';
import { externalLocations } from '../model/external-data.js';
import { invalidModel } from '../model/invalid.js';
import { HubClient } from './client.js';
import { downloadError } from './failure.js';
import {
  chooseModels,
  commitSchema,
  externalFile,
  listRepository,
  type RepositoryFile,
  resolveCommit,
  smallFiles,
} from './listing.js';
import { type CheckedOptions, checkFetchOptions, type FetchModelOptions } from './options.js';
import { PartFile } from './part-file.js';
import { RepositoryCache, type SnapshotRecord } from './snapshot.js';
import { diskError, transfer } from './transfer.js';

export interface FetchedModel {
  readonly repository: string;
  readonly revision: string;
  /** What the revision stood for: name it as revision to get the same bytes again. */
  readonly commit: string;
  /** Folder with config.json and the tokenizer, for `openModelFiles` and `openTokenizer`. */
  readonly folder: string;
  /** Absolute paths of the chosen model files. */
  readonly models: readonly string[];
  readonly files: readonly FetchedFile[];
  /** Bytes that came over the network now; 0 when the cache had everything. */
  readonly fetchedBytes: number;
}

export interface FetchedFile {
  /** In the repository, and in `folder`. */
  readonly path: string;
  readonly size: number;
  /** What the bytes were compared with: the SHA-256 of LFS, the hash of the git blob, or their number alone. */
  readonly checked: 'sha256' | 'git' | 'size';
}

/**
 * Fetches config.json, generation_config.json, the files of the tokenizer, and the chosen ONNX models with their external
 * data. The revision is resolved to a commit first, and all files are of that commit. Interrupted downloads go on where
 * they stopped. Throws MODEL_DOWNLOAD, OPTION_INVALID, MODEL_INVALID for a model that cannot be read, and the reason of
 * `signal`.
 */
export async function fetchModel(
  repository: string,
  options: FetchModelOptions = {},
): Promise<FetchedModel> {
  const checked = checkFetchOptions(repository, options);
  try {
    return await new ModelFetch(checked).run();
  } catch (error) {
    checked.signal?.throwIfAborted();
    throw diskError('the model', error);
  }
}

class ModelFetch {
  readonly #options: CheckedOptions;
  readonly #client: HubClient;
  readonly #cache: RepositoryCache;
  #fetchedBytes = 0;

  constructor(options: CheckedOptions) {
    this.#options = options;
    this.#client = new HubClient(options);
    this.#cache = new RepositoryCache(options);
  }

  async run(): Promise<FetchedModel> {
    const commit = await this.#commit();
    const record = await this.#cache.readRecord(commit);
    const whole = record === null ? null : await this.#fromCache(commit, record);
    if (whole !== null) return whole;
    if (this.#options.offline) throw this.#notCached(commit);
    return this.#fromHub(commit, record);
  }

  async #commit(): Promise<string> {
    const { repository, revision, offline } = this.#options;
    if (commitSchema.safeParse(revision).success) return revision;
    if (offline) {
      const known = await this.#cache.readReference(revision);
      if (known === null) throw this.#notCached(revision);
      return known;
    }
    const commit = await resolveCommit(this.#client, repository, revision);
    await this.#cache.writeReference(revision, commit);
    return commit;
  }

  async #fromCache(commit: string, record: SnapshotRecord): Promise<FetchedModel | null> {
    const { listing } = record;
    const models = chooseModels(listing, this.#options.files);
    if (models.some(({ path }) => record.models[path] === undefined)) return null;
    const data = models.flatMap(({ path }) => record.models[path] ?? []);
    const external = listing.filter(({ path }) => data.includes(path));
    const files = [...smallFiles(listing), ...models, ...external];
    if (!(await this.#cache.holds(commit, files))) return null;
    return this.#result(commit, models, files);
  }

  async #fromHub(commit: string, known: SnapshotRecord | null): Promise<FetchedModel> {
    const { repository, files: choices } = this.#options;
    const listing = known?.listing ?? (await listRepository(this.#client, repository, commit));
    const models = chooseModels(listing, choices);
    const files = [...smallFiles(listing), ...models];
    for (const file of files) await this.#fetchFile(commit, file);
    const finished: Record<string, string[]> = { ...known?.models };
    for (const { path } of models) {
      const external = (await this.#locations(commit, path)).map((location) =>
        externalFile(listing, path, location),
      );
      for (const file of external) await this.#fetchFile(commit, file);
      finished[path] = external.map((file) => file.path);
      files.push(...external);
    }
    await this.#cache.writeRecord(commit, { listing: [...listing], models: finished });
    return this.#result(commit, models, files);
  }

  async #fetchFile(commit: string, file: RepositoryFile): Promise<void> {
    if (await this.#cache.holds(commit, [file])) return;
    const { repository, endpoint, onProgress } = this.#options;
    const name = createHash('sha256').update(file.path).digest('hex').slice(0, 32);
    const part = await PartFile.claim(this.#cache.parts(commit), name);
    const url = `${endpoint}/${repository}/resolve/${commit}/${file.path.split('/').map(encodeURIComponent).join('/')}`;
    try {
      const onBytes = (bytes: number) => {
        this.#fetchedBytes += bytes;
        onProgress?.({ file: file.path, fileBytes: part.size, fileSize: file.size });
      };
      await transfer({ client: this.#client, url, file, part, onBytes });
      await part.finish(this.#cache.pathOf(commit, file.path));
    } finally {
      part.release();
    }
  }

  /** Names of the files that hold the model's weights. */
  async #locations(commit: string, model: string): Promise<string[]> {
    try {
      const { graph } = fromBinary(
        ModelProtoSchema,
        await readFile(this.#cache.pathOf(commit, model)),
      );
      return graph === undefined ? [] : externalLocations(graph);
    } catch (cause) {
      throw invalidModel({
        message: 'the file of the repository is not a readable ONNX model',
        value: model,
        valid: 'an ONNX file',
        next: 'Choose another model file.',
        cause,
      });
    }
  }

  #result(
    commit: string,
    models: readonly RepositoryFile[],
    files: readonly RepositoryFile[],
  ): FetchedModel {
    const { repository, revision } = this.#options;
    return {
      repository,
      revision,
      commit,
      folder: this.#cache.snapshot(commit),
      models: models.map(({ path }) => this.#cache.pathOf(commit, path)),
      files: files.map(({ path, size, sha256, gitSha1 }) => ({
        path,
        size,
        checked: sha256 !== null ? 'sha256' : gitSha1 !== null ? 'git' : 'size',
      })),
      fetchedBytes: this.#fetchedBytes,
    };
  }

  #notCached(revision: string) {
    const { repository, cacheDir } = this.#options;
    return downloadError({
      message: 'the cache does not hold the model, and it may not be fetched offline',
      value: `${repository} at ${revision}`,
      valid: `models that were fetched to ${cacheDir} before`,
      next: 'Fetch it without offline first.',
    });
  }
}
