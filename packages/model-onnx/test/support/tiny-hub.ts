/**
 * A model hub of one repository on 127.0.0.1, with the paths, redirects, ranges and pages of huggingface.co; and a second
 * server that large files are redirected to.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const PAGE = 3;
const NOTHING = new Uint8Array();

export interface HubFile {
  readonly bytes: Uint8Array;
  /** In LFS: listed with its SHA-256, served by the second server. */
  readonly lfs?: boolean;
}

export interface HubRequest {
  readonly server: 'hub' | 'storage';
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
}

/** Answers instead of the hub, or lets it answer (false). */
export type Fault = (request: HubRequest, response: ServerResponse, body: Uint8Array) => boolean;

export interface ListedEntry {
  readonly type: string;
  readonly path: string;
  readonly size: number;
  readonly oid?: string;
  readonly lfs?: { readonly oid: string; readonly size: number };
}

export class TinyHub {
  readonly name: string;
  readonly commits = new Map<string, Readonly<Record<string, HubFile>>>();
  readonly revisions = new Map<string, string>();
  readonly requests: HubRequest[] = [];
  /** Bytes of files that were sent, over both servers. */
  sent = 0;
  fault: Fault = () => false;
  /** What is listed, where that is not the truth. */
  listed: (entries: ListedEntry[]) => unknown = (entries) => entries;
  /** Once it has started. */
  endpoint = '';
  #hub: Server | undefined;
  #storage: Server | undefined;

  constructor(name: string) {
    this.name = name;
  }

  /** A new commit on `main`. */
  push(files: Readonly<Record<string, HubFile>>): string {
    const commit = createHash('sha1').update(`${this.commits.size}`).digest('hex');
    this.commits.set(commit, files);
    this.revisions.set('main', commit);
    return commit;
  }

  async start(): Promise<void> {
    this.#storage = await listening((request, response) => this.#store(request, response));
    this.#hub = await listening((request, response) => this.#answer(request, response));
    this.endpoint = originOf(this.#hub);
  }

  async stop(): Promise<void> {
    for (const server of [this.#hub, this.#storage]) {
      server?.closeAllConnections();
      await new Promise((resolve) => server?.close(resolve));
    }
  }

  filesAsked(): string[] {
    return this.requests.filter(({ path }) => path.includes('/resolve/')).map(({ path }) => path);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '', 'http://hub');
    const path = decodeURIComponent(url.pathname);
    const seen = this.#seen('hub', path, request);
    const [, kind, rest = ''] =
      new RegExp(`^/api/models/${this.name}/(revision|tree)/(.*)$`).exec(path) ?? [];
    if (kind === 'revision') this.#revision(seen, response, rest);
    else if (kind === 'tree') {
      const page = Number(url.searchParams.get('page') ?? 0);
      if (!this.fault(seen, response, NOTHING)) this.#list(response, rest, page);
    } else this.#resolve(seen, response);
  }

  #revision(seen: HubRequest, response: ServerResponse, revision: string): void {
    const sha = this.revisions.get(revision) ?? revision;
    if (this.fault(seen, response, NOTHING)) return;
    if (this.commits.has(sha)) json(response, 200, { _id: '1', id: this.name, sha });
    else json(response, 404, { error: 'Invalid rev id' });
  }

  #resolve(seen: HubRequest, response: ServerResponse): void {
    const [, commit = '', path = ''] = /\/resolve\/([^/]+)\/(.*)$/.exec(seen.path) ?? [];
    const file = this.commits.get(commit)?.[path];
    if (file === undefined) json(response, 404, { error: 'Entry not found' });
    else if (this.fault(seen, response, file.bytes)) return;
    else if (file.lfs === true) {
      const location = `${originOf(this.#storage)}/${commit}/${path}?signature=1`;
      response.writeHead(302, { location, 'x-linked-size': file.bytes.length }).end();
    } else this.#send(response, file.bytes, seen.range);
  }

  #store(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? '', 'http://storage').pathname;
    const seen = this.#seen('storage', path, request);
    const [, commit = '', file = ''] = /^\/([^/]+)\/(.*)$/.exec(path) ?? [];
    const bytes = this.commits.get(commit)?.[file]?.bytes ?? NOTHING;
    if (!this.fault(seen, response, bytes)) this.#send(response, bytes, seen.range);
  }

  #send(response: ServerResponse, bytes: Uint8Array, range: string | undefined): void {
    const from = range === undefined ? 0 : Number(/^bytes=(\d+)-$/.exec(range)?.[1]);
    if (range !== undefined && from >= bytes.length) {
      response.writeHead(416).end();
      return;
    }
    const part = bytes.subarray(from);
    this.sent += part.length;
    response.writeHead(range === undefined ? 200 : 206, {
      'content-length': part.length,
      etag: `"${sha256(bytes)}"`,
      ...(range === undefined
        ? {}
        : { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    });
    response.end(part);
  }

  #list(response: ServerResponse, commit: string, page: number): void {
    const files = this.commits.get(commit) ?? {};
    const folders = new Set(
      Object.keys(files).flatMap((path) => (path.includes('/') ? [path.split('/')[0]] : [])),
    );
    const entries: ListedEntry[] = [
      ...[...folders].map((path) => ({ type: 'directory', path: `${path}`, size: 0, oid: '0' })),
      ...Object.entries(files).map(([path, file]) => entryOf(path, file)),
    ];
    const listed = this.listed(entries);
    if (!Array.isArray(listed)) {
      json(response, 200, listed);
      return;
    }
    const next = `${this.endpoint}/api/models/${this.name}/tree/${commit}?page=${page + 1}`;
    const more = listed.length > (page + 1) * PAGE;
    const shown = listed.slice(page * PAGE, (page + 1) * PAGE);
    json(response, 200, shown, more ? { link: `<${next}>; rel="next"` } : {});
  }

  #seen(server: 'hub' | 'storage', path: string, request: IncomingMessage): HubRequest {
    const { range, authorization } = request.headers;
    const seen = { server, path, range, authorization };
    this.requests.push(seen);
    return seen;
  }
}

function entryOf(path: string, { bytes, lfs }: HubFile): ListedEntry {
  const size = bytes.length;
  if (lfs === true)
    return { type: 'file', path, size, oid: gitSha1(bytes), lfs: { oid: sha256(bytes), size } };
  return { type: 'file', path, size, oid: gitSha1(bytes) };
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function gitSha1(bytes: Uint8Array): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}

async function listening(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Server> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function originOf(server: Server | undefined): string {
  const address = server?.address() as AddressInfo | null | undefined;
  return `http://127.0.0.1:${address?.port}`;
}
