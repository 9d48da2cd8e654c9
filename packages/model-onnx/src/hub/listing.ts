/**
 * What a repository holds at a commit, and which of it a decoder needs.
 */
import { posix } from 'node:path';
import { type LowbitKvError, parseOrThrow } from '@lowbit-kv/core';
import * as z from 'zod';
import type { HubClient } from './client.js';
import { downloadError } from './failure.js';

const MOST_FILES = 100_000;
/** A page has up to a thousand entries. */
const MOST_PAGES = 200;
/** Fetched where they are, besides the model. */
const SMALL_FILES = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
];

export const commitSchema = z.string().regex(/^[0-9a-f]{40}$/, 'a commit of 40 hexadecimal digits');

/** `sha256` of files in LFS, `gitSha1` (of the git blob) of others. */
export const repositoryFileSchema = z.object({
  path: z.string(),
  size: z.int().min(0),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  gitSha1: z
    .string()
    .regex(/^[0-9a-f]{40}$/)
    .nullable(),
});
export type RepositoryFile = z.infer<typeof repositoryFileSchema>;

const entrySchema = z.object({
  type: z.string(),
  path: z.string(),
  size: z.int().min(0),
  oid: z.string().optional(),
  lfs: z.object({ oid: z.string(), size: z.int().min(0) }).optional(),
});

/** The commit that a revision stands for now. Throws MODEL_DOWNLOAD. */
export async function resolveCommit(
  client: HubClient,
  name: string,
  revision: string,
): Promise<string> {
  const { modelInfo } = await import('@huggingface/hub');
  const info = await readable(() =>
    modelInfo({
      name,
      revision,
      additionalFields: ['sha'],
      hubUrl: client.endpoint,
      fetch: client.fetch,
    }),
  );
  return checkedAnswer(commitSchema, info.sha);
}

/** All files at a commit. Throws MODEL_DOWNLOAD, also for a name that leaves the folder. */
export async function listRepository(
  client: HubClient,
  name: string,
  commit: string,
): Promise<RepositoryFile[]> {
  const { listFiles } = await import('@huggingface/hub');
  const options = { repo: name, revision: commit, recursive: true };
  const files: RepositoryFile[] = [];
  let pages = 0;
  const endless = (value: number) =>
    downloadError({
      message: 'the list of files does not end',
      value,
      next: 'Check the endpoint.',
    });
  const fetchPage: typeof fetch = (...request) => {
    if (++pages > MOST_PAGES) throw endless(files.length);
    return client.fetch(...request);
  };
  await readable(async () => {
    const entries = listFiles({ ...options, hubUrl: client.endpoint, fetch: fetchPage });
    for await (const item of entries) {
      const entry = checkedAnswer(entrySchema, item);
      checkPath(entry.path);
      if (entry.type === 'file') files.push(fileOf(entry));
      if (files.length > MOST_FILES) throw endless(files.length);
    }
  });
  return files;
}

function fileOf({ path, size, oid, lfs }: z.infer<typeof entrySchema>): RepositoryFile {
  return checkedAnswer(repositoryFileSchema, {
    path,
    size: lfs?.size ?? size,
    sha256: lfs?.oid ?? null,
    gitSha1: lfs === undefined ? (oid ?? null) : null,
  });
}

export function smallFiles(listing: readonly RepositoryFile[]): RepositoryFile[] {
  return listing.filter(({ path }) => SMALL_FILES.includes(path));
}

/** The model files that are meant; without a choice, the only one. Throws MODEL_DOWNLOAD with all there are. */
export function chooseModels(
  listing: readonly RepositoryFile[],
  choices: readonly string[] | undefined,
): RepositoryFile[] {
  const candidates = listing.filter(({ path }) => path.endsWith('.onnx'));
  const valid = candidates.map(({ path }) => path);
  if (valid.length === 0) {
    throw downloadError({
      message: 'the repository holds no ONNX model',
      value: `${listing.length} files`,
      valid: 'a repository with a .onnx file',
      next: 'Look for an ONNX version of the model: its repository often has "onnx" in its name.',
    });
  }
  if (choices === undefined) {
    if (candidates.length === 1) return candidates;
    throw downloadError({
      message: `the repository has several models: ${valid.join(', ')}`,
      value: `${valid.length} models`,
      valid,
      next: `Choose one with \`--model-file ${valid[0]}\` (in code: \`files: ['${valid[0]}']\`).`,
    });
  }
  const chosen = choices.map((choice) => {
    const meant = candidates.filter(({ path }) =>
      [path, posix.basename(path), posix.basename(path, '.onnx')].includes(choice),
    );
    const [only, ...others] = meant;
    if (only !== undefined && others.length === 0) return only;
    throw downloadError({
      message: others.length > 0 ? 'several model files have this name' : 'no such model file',
      value: choice,
      valid: others.length > 0 ? meant.map(({ path }) => path) : valid,
      next: 'Choose one of the files by its path.',
    });
  });
  return [...new Set(chosen)];
}

/** The file of a repository that a model in `folder` names as its data. Throws MODEL_DOWNLOAD. */
export function externalFile(
  listing: readonly RepositoryFile[],
  model: string,
  location: string,
): RepositoryFile {
  checkPath(posix.normalize(location));
  const path = posix.join(posix.dirname(model), location);
  const file = listing.find((one) => one.path === path);
  if (file !== undefined) return file;
  throw downloadError({
    message: `the repository lacks the external data of ${model}`,
    value: path,
    valid: 'a file of the repository',
    next: 'Choose another model file, or another repository.',
  });
}

/** Throws MODEL_DOWNLOAD unless the path stays in the folder that it is put in, on every system. */
function checkPath(path: string): void {
  const parts = path.split('/');
  const harmless = (part: string) =>
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
    part !== '' && part !== '.' && part !== '..' && !/[\\\u0000-\u001f]/.test(part);
  if (path.length <= 1000 && parts.every(harmless) && !/^[a-z]:/i.test(path)) return;
  throw downloadError({
    message: 'a file name of the repository leaves its folder, which is refused',
    value: path,
    valid: 'relative paths without ..',
    next: 'Do not use this repository or endpoint.',
  });
}

/** What the hub's library makes of an answer that it does not expect is an error without a code. */
async function readable<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (!(cause instanceof SyntaxError || cause instanceof TypeError)) throw cause;
    throw unreadable(cause);
  }
}

function checkedAnswer<T>(schema: z.ZodType<T>, value: unknown): T {
  return parseOrThrow(schema, value, 'MODEL_DOWNLOAD', 'answer of the hub', 'Check the endpoint.');
}

function unreadable(cause: unknown): LowbitKvError {
  return downloadError({
    message: 'the answer of the hub cannot be read',
    valid: 'answers as those of huggingface.co',
    next: 'Check the endpoint.',
    cause,
  });
}
