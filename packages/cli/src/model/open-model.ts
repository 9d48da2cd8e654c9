/**
 * Finds the model that `--model` names: a folder or a file here, or a repository of a model hub.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import type { Tokenizer } from '@lowbit-kv/model-onnx';
import { fetchModel, type ModelFiles, openModelFiles, openTokenizer } from '@lowbit-kv/model-onnx';
import { megabytes } from '../numbers-as-text.js';
import type { Terminal } from '../terminal.js';

export interface ModelOptions {
  readonly model: string;
  /** Which model file, where there are several. */
  readonly modelFile?: string;
  /** Of a hub's repository. */
  readonly revision?: string;
  readonly offline?: boolean;
}

export interface FoundModel {
  /** For people: the folder, or repository and commit. */
  readonly name: string;
  readonly files: ModelFiles;
  readonly folder: string;
  readonly tokenizer: Tokenizer;
}

const REPOSITORY = /^\w[\w.-]*\/\w[\w.-]*$/;

/**
 * Fetches what is not here; says on stderr which commit it was. `HF_ENDPOINT` and `HF_TOKEN` are those of the hub. Throws
 * MODEL_INVALID, MODEL_DOWNLOAD, TOKENIZER_INVALID.
 */
export async function findModel(terminal: Terminal, options: ModelOptions): Promise<FoundModel> {
  const path = resolve(terminal.directory, options.model);
  if (existsSync(path)) {
    const choice = options.modelFile === undefined ? {} : { model: options.modelFile };
    const files = await openModelFiles(path, choice);
    return found(files, files.name);
  }
  if (!REPOSITORY.test(options.model)) {
    throw new LowbitKvError('MODEL_INVALID', {
      message: 'there is no such model',
      value: options.model,
      valid: 'a folder with config.json and onnx/model*.onnx, a model file, or org/name on a hub',
      next: 'Correct the path: it is relative to the current directory.',
      where: { field: 'model' },
    });
  }
  terminal.note(`${options.model}: no such folder here, so it is looked for on the hub`);
  return fetched(terminal, options);
}

async function fetched(
  terminal: Terminal,
  { model, modelFile, revision, offline }: ModelOptions,
): Promise<FoundModel> {
  const { HF_ENDPOINT: endpoint, HF_TOKEN: token, XDG_CACHE_HOME: cache } = terminal.environment;
  const { commit, folder, models, fetchedBytes } = await fetchModel(model, {
    ...(revision !== undefined && { revision }),
    ...(modelFile !== undefined && { files: [modelFile] }),
    ...(offline !== undefined && { offline }),
    ...(endpoint && { endpoint }),
    ...(token && { token }),
    ...(cache && { cacheDir: resolve(cache, 'lowbit-kv', 'hub') }),
    signal: terminal.interruption(),
    onProgress: ({ file, fileBytes, fileSize }) =>
      terminal.status(`${file}: ${megabytes(fileBytes)} of ${megabytes(fileSize)}`),
  });
  terminal.note(
    `${model} at ${commit}: ${fetchedBytes === 0 ? 'from the cache' : megabytes(fetchedBytes)}`,
  );
  const files = await openModelFiles(models[0] ?? folder);
  return found({ ...files, folder }, `${model}@${commit}`);
}

async function found(files: ModelFiles, name: string): Promise<FoundModel> {
  const folder = files.folder;
  if (folder === null) throw new TypeError('a model on disk has a folder');
  return { name, files, folder, tokenizer: await openTokenizer(folder) };
}
