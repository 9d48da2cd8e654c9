/**
 * Finds the files of a model: a folder as on the hub, a model file, or bytes in memory.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { type ModelConfig, parseModelConfig } from './config.js';
import { type ExternalFiles, FolderFiles, MemoryFiles } from './external-files.js';
import { invalidModel } from './invalid.js';

export interface ModelFiles {
  /** Of the folder, for people. */
  readonly name: string;
  /** Where config.json and the tokenizer lie; null in memory. */
  readonly folder: string | null;
  /** Absolute path of the model file; its bytes in memory. */
  readonly model: string | Uint8Array;
  readonly config: ModelConfig;
  readonly external: ExternalFiles;
}

export interface ModelFilesOptions {
  /** Which model file of the folder, e.g. `onnx/model_q4.onnx` or `model_q4`; needed when there are several. */
  readonly model?: string;
}

export interface ModelBytes {
  readonly name?: string;
  readonly model: Uint8Array;
  /** Bytes of the files that the model names. */
  readonly externalData?: Readonly<Record<string, Uint8Array>>;
  /** What config.json says. */
  readonly config?: unknown;
}

/** `path` is a folder with config.json, or a model file in it or in its folder `onnx`. Throws MODEL_INVALID. */
export async function openModelFiles(
  path: string,
  options: ModelFilesOptions = {},
): Promise<ModelFiles> {
  const place = resolve(path);
  const info = await stat(place).catch((cause: unknown) => {
    throw invalidModel({
      message: 'there is no model here',
      value: path,
      valid: 'a folder with config.json and a model, or a model file',
      next: 'Correct the path.',
      cause,
    });
  });
  if (!info.isDirectory()) requireModelFile(place, options.model);
  const model = info.isDirectory() ? await chooseModel(place, options.model) : place;
  const folder = info.isDirectory() ? place : folderOf(place);
  return {
    name: basename(folder),
    folder,
    model,
    config: await readConfig(join(folder, 'config.json')),
    external: new FolderFiles(dirname(model)),
  };
}

/** A model in memory. Throws MODEL_INVALID for a configuration that is none. */
export function modelFromBytes(bytes: ModelBytes): ModelFiles {
  return {
    name: bytes.name ?? 'bytes in memory',
    folder: null,
    model: bytes.model,
    config: parseModelConfig(bytes.config ?? {}),
    external: new MemoryFiles(bytes.externalData ?? {}),
  };
}

function requireModelFile(path: string, choice: string | undefined): void {
  const isModel = path.endsWith('.onnx');
  if (isModel && choice === undefined) return;
  throw invalidModel({
    message: isModel ? 'a model file is named twice' : 'this is neither a folder nor a model file',
    value: isModel ? choice : path,
    valid: 'a folder, with the model file of it, or a file that ends in .onnx',
    next: isModel ? 'Name the folder, or leave the second name out.' : 'Correct the path.',
  });
}

/** The folder of config.json: hub repositories have their models in a folder `onnx` of it. */
function folderOf(model: string): string {
  const folder = dirname(model);
  return basename(folder) === 'onnx' ? dirname(folder) : folder;
}

async function chooseModel(folder: string, choice: string | undefined): Promise<string> {
  const candidates = [
    ...(await namesIn(folder)).filter((name) => name === 'model.onnx'),
    ...(await namesIn(join(folder, 'onnx')))
      .filter((name) => /^model.*\.onnx$/.test(name))
      .map((name) => `onnx/${name}`),
  ].sort();
  const refuse = (message: string, value: unknown, next: string) =>
    invalidModel({ message: `${message} in ${folder}`, value, valid: candidates, next });
  if (choice !== undefined) {
    const chosen = candidates.filter((candidate) => isMeant(candidate, choice, folder));
    if (chosen.length === 1 && chosen[0] !== undefined) return join(folder, chosen[0]);
    throw refuse(
      'no such model file',
      choice,
      'Choose one of the files, or give its path in place of the folder.',
    );
  }
  const [only, ...others] = candidates;
  if (only === undefined)
    throw refuse('there is no model.onnx and no onnx/model*.onnx', folder, 'Correct the path.');
  if (others.length === 0) return join(folder, only);
  const plain = candidates.filter((candidate) => basename(candidate) === 'model.onnx');
  if (plain.length === 1 && plain[0] !== undefined) return join(folder, plain[0]);
  throw refuse(
    'there are several model files',
    `${candidates.length} files`,
    'Choose one of them (--model-file on the command line).',
  );
}

function isMeant(candidate: string, choice: string, folder: string): boolean {
  const plain = relative(folder, resolve(folder, choice));
  return [candidate, basename(candidate), basename(candidate, '.onnx')].includes(plain);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function readConfig(path: string): Promise<ModelConfig> {
  try {
    return parseModelConfig(JSON.parse(await readFile(path, 'utf8')));
  } catch (cause) {
    const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    if (!missing && !(cause instanceof SyntaxError)) throw cause;
    throw invalidModel({
      message: missing ? 'config.json is missing' : 'config.json is not JSON',
      value: path,
      valid: 'the config.json that came with the model, in its folder',
      next: 'Put it there.',
      cause,
    });
  }
}
