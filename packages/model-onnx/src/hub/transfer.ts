/**
 * Fetches one file of a repository: goes on where an earlier attempt stopped, and checks what has arrived.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { LowbitKvError } from '@lowbit-kv/core';
import type { Chunks, HubClient } from './client.js';
import { downloadError, HubFailure } from './failure.js';
import type { RepositoryFile } from './listing.js';
import type { PartFile } from './part-file.js';

export interface Transfer {
  readonly client: HubClient;
  /** Of the file at its commit. */
  readonly url: string;
  readonly file: RepositoryFile;
  readonly part: PartFile;
  /** Called with the bytes of every piece that is on disk. */
  readonly onBytes: (bytes: number) => void;
}

/** Afterwards the part holds the whole file, checked. Throws MODEL_DOWNLOAD. */
export async function transfer(work: Transfer): Promise<void> {
  const { file, part } = work;
  if (part.size > file.size) await part.clear();
  const found = part.size;
  await fetchRest(work);
  if (await isIntact(part.path, file)) return;
  await part.clear();
  // What an earlier run left may be at fault; what came now is the server's.
  if (found > 0) await fetchRest(work);
  if (found > 0 && (await isIntact(part.path, file))) return;
  await part.clear();
  throw downloadError({
    message: `${file.path} does not have the ${file.sha256 === null ? 'git hash' : 'SHA-256'} that the hub states`,
    value: file.path,
    valid: `a file with the hash ${file.sha256 ?? file.gitSha1}`,
    next: 'Run it again; if it stays so, the copy that the server sends is damaged: use another endpoint.',
  });
}

async function fetchRest({ client, url, file, part, onBytes }: Transfer): Promise<void> {
  await client.retrying(
    `${file.path} cannot be fetched`,
    async () => {
      if (part.size === file.size) return;
      const from = part.size;
      const range = from === 0 ? undefined : { range: `bytes=${from}-` };
      await client.request(url, { 'accept-encoding': 'identity', ...range }, (response, chunks) =>
        receive({ response, chunks, file, part, onBytes }),
      );
    },
    () => part.size,
  );
}

interface Reception {
  readonly response: Response;
  readonly chunks: Chunks;
  readonly file: RepositoryFile;
  readonly part: PartFile;
  readonly onBytes: (bytes: number) => void;
}

async function receive({ response, chunks, file, part, onBytes }: Reception): Promise<void> {
  if (response.status === 206) requireRange(response, part.size, file.size);
  // Servers may answer with the whole file to any range.
  else await part.clear();
  const room = { bytes: file.size - part.size };
  await part.append(limited(chunks, room), onBytes);
  if (room.bytes > 0)
    throw new HubFailure(`it ends after ${part.size} of ${file.size} bytes`, { retry: true });
}

async function* limited(chunks: Chunks, room: { bytes: number }): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    room.bytes -= chunk.length;
    if (room.bytes < 0) throw new HubFailure('it is longer than the hub states', { retry: false });
    yield chunk;
  }
}

function requireRange(response: Response, from: number, size: number): void {
  const range = response.headers.get('content-range');
  if (range === `bytes ${from}-${size - 1}/${size}`) return;
  throw new HubFailure(`the server sends bytes that were not asked for (${range})`, {
    retry: false,
  });
}

async function isIntact(path: string, { size, sha256, gitSha1 }: RepositoryFile): Promise<boolean> {
  const hash = createHash(sha256 === null ? 'sha1' : 'sha256');
  if (sha256 === null) hash.update(`blob ${size}\0`);
  // Nothing was written of a file of no bytes.
  if (size > 0) for await (const chunk of createReadStream(path)) hash.update(chunk);
  const expected = sha256 ?? gitSha1;
  return expected === null || hash.digest('hex') === expected;
}

/** An error of the file system becomes MODEL_DOWNLOAD; others stay what they are. */
export function diskError(what: string, cause: unknown): unknown {
  if (LowbitKvError.is(cause, 'FILE_NOT_WRITTEN')) return diskError(what, cause.cause);
  const { code, syscall } = cause as NodeJS.ErrnoException;
  if (LowbitKvError.is(cause) || syscall === undefined) return cause;
  return downloadError({
    message: `${what} cannot be written to the cache`,
    value: code,
    valid: 'a folder with room that may be written to',
    next: 'Make room, or choose another cache folder.',
    cause,
  });
}
