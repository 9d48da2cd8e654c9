/**
 * Options of fetchModel, checked before anything happens.
 */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { LowbitKvError, parseOrThrow } from '@lowbit-kv/core';
import * as z from 'zod';

export interface FetchProgress {
  /** Path of the file in the repository. */
  readonly file: string;
  /** Bytes of this file that are on disk, and its size. */
  readonly fileBytes: number;
  readonly fileSize: number;
}

export interface FetchModelOptions {
  /** Branch, tag or commit. Default `main`. A commit that is in the cache needs no network. */
  readonly revision?: string;
  /** Where models are kept. Default `lowbit-kv/hub` in $XDG_CACHE_HOME, or in ~/.cache. */
  readonly cacheDir?: string;
  /** Which model files: path, name, or name without `.onnx`. Needed when the repository has several. */
  readonly files?: readonly string[];
  /** Default https://huggingface.co. */
  readonly endpoint?: string;
  /** Sent to the endpoint alone, never to where it redirects. */
  readonly token?: string;
  /** Uses what the revision stood for when it was last fetched, and no network. Default false. */
  readonly offline?: boolean;
  /** Called with every piece that arrives. */
  readonly onProgress?: (progress: FetchProgress) => void;
  /** Stops the download; it fails with the reason of the signal, and goes on from there next time. */
  readonly signal?: AbortSignal;
  /** Milliseconds without a byte after which an attempt is given up. Default 30,000. */
  readonly timeout?: number;
  /** Further attempts without progress before it fails. Default 4. */
  readonly retries?: number;
  /** Milliseconds before the second attempt; doubles with each further one. Default 1000. */
  readonly retryDelay?: number;
}

const NEXT = 'Correct the option.';
// Neither '..' nor a leading dot, as on the hub: a name is a folder of the cache.
const repositoryName = z
  .string()
  .regex(/^\w[\w.-]*\/\w[\w.-]*$/, 'a name as org/model')
  .refine((name) => !name.includes('..'), 'a name without ..');

const schema = z.strictObject({
  revision: z
    .string()
    .regex(/^[\w][\w./-]*$/, 'a branch, a tag or a commit')
    .refine((name) => name.length <= 200, 'at most 200 characters')
    .default('main'),
  cacheDir: z.string().min(1).optional(),
  files: z.array(z.string().min(1)).min(1).optional(),
  endpoint: z.string().optional(),
  token: z.string().optional(),
  offline: z.boolean().default(false),
  onProgress: z.custom<FetchModelOptions['onProgress']>().optional(),
  signal: z.instanceof(AbortSignal).optional(),
  timeout: z.int().min(1).default(30_000),
  retries: z.int().min(0).default(4),
  retryDelay: z.int().min(0).default(1000),
});

export type CheckedOptions = ReturnType<typeof checkFetchOptions>;

/** Throws OPTION_INVALID; never shows a token. */
export function checkFetchOptions(repository: string, options: FetchModelOptions) {
  const name = parseOrThrow(repositoryName, repository, 'OPTION_INVALID', 'model', NEXT);
  // Apart from the rest, so that no message can show it.
  const { token, ...others } = options;
  const checked = parseOrThrow(schema, others, 'OPTION_INVALID', 'options of fetchModel', NEXT);
  const endpoint = checkedEndpoint(checked.endpoint ?? 'https://huggingface.co', token);
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw optionError('the token is not one', '(not shown)', 'printable characters without spaces');
  }
  return {
    ...checked,
    repository: name,
    endpoint,
    token,
    cacheDir: resolve(checked.cacheDir ?? defaultCacheDir()),
  };
}

function defaultCacheDir(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'lowbit-kv', 'hub');
}

/** Without a slash at its end. */
function checkedEndpoint(text: string, token: string | undefined): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash)
    throw optionError('the endpoint is not valid', text, 'an http or https URL');
  if (url.username !== '' || url.password !== '')
    throw optionError(
      'the endpoint holds a password',
      '(not shown)',
      'a URL without one, and a token',
    );
  const local = ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  if (token !== undefined && url.protocol === 'http:' && !local)
    throw optionError('a token would be sent unencrypted', url.origin, 'an https endpoint');
  return url.href.replace(/\/+$/, '');
}

function optionError(message: string, value: unknown, valid: string): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', { message, value, valid, next: NEXT });
}
