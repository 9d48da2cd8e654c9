/**
 * Fetching models: what is fetched, checked, resumed and kept, and what a hub that misbehaves gives.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FetchModelOptions, fetchModel } from '../src/index.js';
import { openModelFiles } from '../src/model/model-files.js';
import { modelBytes } from './support/graph-writer.js';
import { tinyDecoder, withExternalData } from './support/tiny-decoders.js';
import { type HubFile, type HubRequest, TinyHub } from './support/tiny-hub.js';
import { multiHead } from './support/tiny-multi-head.js';

const NAME = 'somebody/tiny-model';
const TOKEN = 'hf_not-for-logs';
const text = (value: string) => new TextEncoder().encode(value);

const tiny = tinyDecoder(multiHead(), { sizes: { layers: 1 } });
const whole = modelBytes(tiny.model);
const { bytes: split, data } = withExternalData(tiny, 'model.onnx_data');
const CONFIG = text('{"model_type":"llama"}');

const FILES: Readonly<Record<string, HubFile>> = {
  'config.json': { bytes: CONFIG },
  'generation_config.json': { bytes: text('{"eos_token_id":2}') },
  'tokenizer.json': { bytes: text('{"model":{}}'), lfs: true },
  'tokenizer_config.json': { bytes: text('{}') },
  'chat_template.jinja': { bytes: text('{{ messages }}') },
  'README.md': { bytes: text('# Tiny') },
  'pytorch_model.bin': { bytes: new Uint8Array(1e6), lfs: true },
  'onnx/model.onnx': { bytes: split, lfs: true },
  'onnx/model.onnx_data': { bytes: data, lfs: true },
};
const NEEDED = [
  'chat_template.jinja',
  'config.json',
  'generation_config.json',
  'onnx/model.onnx',
  'onnx/model.onnx_data',
  'tokenizer.json',
  'tokenizer_config.json',
];
const DATA = 'onnx/model.onnx_data';

let hub: TinyHub;
let cacheDir: string;

beforeEach(async () => {
  hub = new TinyHub(NAME);
  hub.push(FILES);
  await hub.start();
  cacheDir = await mkdtemp(join(tmpdir(), 'lowbit-kv-hub-'));
});
afterEach(async () => {
  await hub.stop();
  await rm(cacheDir, { recursive: true, force: true });
});

const fetched = (options: FetchModelOptions = {}) =>
  fetchModel(NAME, {
    endpoint: hub.endpoint,
    cacheDir,
    timeout: 2000,
    retryDelay: 1,
    retries: 2,
    ...options,
  });

/** Paths of all files below a folder. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

const isData = ({ server, path }: HubRequest) => server === 'storage' && path.endsWith(DATA);

describe('a fetch', () => {
  it('brings what a decoder needs, byte for byte, and nothing else', async () => {
    const model = await fetched();
    expect(await filesBelow(model.folder)).toEqual(NEEDED);
    for (const path of NEEDED) {
      const bytes = await readFile(join(model.folder, path));
      expect(bytes.equals(FILES[path]!.bytes)).toBe(true);
    }
    expect(model).toMatchObject({
      repository: NAME,
      revision: 'main',
      commit: hub.revisions.get('main'),
      models: [join(model.folder, 'onnx', 'model.onnx')],
      fetchedBytes: NEEDED.reduce((sum, path) => sum + FILES[path]!.bytes.length, 0),
    });
    const checked = Object.fromEntries(model.files.map((file) => [file.path, file.checked]));
    expect(checked).toMatchObject({ 'config.json': 'git', [DATA]: 'sha256' });
    expect((await openModelFiles(model.folder)).model).toBe(model.models[0]);
  });

  it('asks for the files of one commit, even when the branch moves meanwhile', async () => {
    const first = hub.revisions.get('main');
    hub.fault = ({ path }) => {
      if (path.includes('/tree/') && hub.commits.size === 1)
        hub.push({ ...FILES, 'config.json': { bytes: text('{"model_type":"other"}') } });
      return false;
    };
    const model = await fetched();
    expect(model.commit).toBe(first);
    expect(await readFile(join(model.folder, 'config.json'))).toEqual(Buffer.from(CONFIG));
    expect(hub.filesAsked().every((path) => path.includes(`/${first}/`))).toBe(true);
  });

  it('follows the branch the next time, and keeps both commits', async () => {
    const before = await fetched();
    hub.push({ ...FILES, 'config.json': { bytes: text('{"model_type":"other"}') } });
    const after = await fetched();
    expect(after.commit).not.toBe(before.commit);
    expect(await readFile(join(before.folder, 'config.json'), 'utf8')).toContain('llama');
    expect(await readFile(join(after.folder, 'config.json'), 'utf8')).toContain('other');
  });

  it('reports its progress up to the size of every file', async () => {
    const last = new Map<string, number>();
    const onProgress: FetchModelOptions['onProgress'] = ({ file, fileBytes, fileSize }) => {
      expect(fileBytes).toBeGreaterThan(last.get(file) ?? 0);
      expect(fileBytes).toBeLessThanOrEqual(fileSize);
      last.set(file, fileBytes);
    };
    await fetched({ onProgress });
    expect([...last.keys()].sort()).toEqual(NEEDED);
    for (const [path, bytes] of last) expect(bytes).toBe(FILES[path]!.bytes.length);
  });

  it('can run twice at once over one cache', async () => {
    const [one, other] = await Promise.all([fetched(), fetched()]);
    expect(one.folder).toBe(other.folder);
    expect(await filesBelow(one.folder)).toEqual(NEEDED);
    expect((await filesBelow(cacheDir)).filter((path) => path.endsWith('.part'))).toEqual([]);
  });
});

describe('the cache', () => {
  it('needs no network for a commit', async () => {
    const { commit, folder } = await fetched();
    await hub.stop();
    const again = await fetched({ revision: commit });
    expect(again).toMatchObject({ commit, folder, fetchedBytes: 0 });
    expect(again.files.map(({ path }) => path).sort()).toEqual(NEEDED);
  });

  it('needs no network offline, and only then takes a branch from memory', async () => {
    const { commit } = await fetched();
    await hub.stop();
    expect((await fetched({ offline: true })).commit).toBe(commit);
    await expect(fetched()).rejects.toThrow(/MODEL_DOWNLOAD: the hub cannot be asked/);
    await expect(fetched({ offline: true, revision: 'dev' })).rejects.toThrow(
      /MODEL_DOWNLOAD: the cache does not hold the model/,
    );
  });

  it('fetches no file twice, and again one that is gone or cut', async () => {
    const model = await fetched();
    const asked = hub.filesAsked().length;
    expect((await fetched()).fetchedBytes).toBe(0);
    expect(hub.filesAsked()).toHaveLength(asked);
    await rm(join(model.folder, 'config.json'));
    await writeFile(join(model.folder, DATA), data.subarray(1));
    expect((await fetched()).fetchedBytes).toBe(CONFIG.length + data.length);
    expect(hub.filesAsked()).toHaveLength(asked + 2);
    expect(await readFile(join(model.folder, DATA))).toEqual(Buffer.from(data));
  });

  it('keeps endpoints apart', async () => {
    const other = new TinyHub(NAME);
    other.push({ ...FILES, 'config.json': { bytes: text('{"model_type":"else"}') } });
    await other.start();
    try {
      const one = await fetched();
      const two = await fetched({ endpoint: other.endpoint });
      expect(two.commit).toBe(one.commit);
      expect(two.folder).not.toBe(one.folder);
      expect(await readFile(join(two.folder, 'config.json'), 'utf8')).toContain('else');
    } finally {
      await other.stop();
    }
  });

  it('says so when its record is damaged', async () => {
    const { commit } = await fetched();
    const record = (await filesBelow(cacheDir)).find((path) => path.endsWith(`${commit}.json`));
    await writeFile(join(cacheDir, record!), '{"listing":');
    await expect(fetched()).rejects.toThrow(/MODEL_DOWNLOAD: a file of the cache is damaged/);
  });
});

describe('several models', () => {
  beforeEach(() => {
    const q4: HubFile = { bytes: whole, lfs: true };
    hub.push({ ...FILES, 'onnx/model_q4.onnx': q4, 'other/model.onnx': q4 });
  });

  it('are listed, and none is fetched', async () => {
    await expect(fetched()).rejects.toMatchObject({
      code: 'MODEL_DOWNLOAD',
      message: expect.stringContaining('onnx/model.onnx, onnx/model_q4.onnx, other/model.onnx'),
      valid: ['onnx/model.onnx', 'onnx/model_q4.onnx', 'other/model.onnx'],
      next: expect.stringContaining('--file onnx/model.onnx'),
    });
    expect(hub.filesAsked()).toEqual([]);
  });

  it('are chosen by path or name, alone or together', async () => {
    for (const name of ['onnx/model_q4.onnx', 'model_q4.onnx', 'model_q4']) {
      const model = await fetched({ files: [name] });
      expect(model.models).toEqual([join(model.folder, 'onnx', 'model_q4.onnx')]);
    }
    expect(hub.filesAsked().filter((path) => path.includes('onnx'))).toHaveLength(1);
    const both = await fetched({ files: ['model_q4', 'onnx/model.onnx'] });
    expect(both.models).toHaveLength(2);
    expect(await filesBelow(both.folder)).toEqual([...NEEDED, 'onnx/model_q4.onnx'].sort());
    // The first choice is still whole.
    await hub.stop();
    const offline = await fetched({ files: ['model_q4'], revision: both.commit });
    expect(offline.fetchedBytes).toBe(0);
  });

  it('need a name that is one of them, and of one of them', async () => {
    await expect(fetched({ files: ['model_q8'] })).rejects.toThrow(/no such model file.*model_q4/);
    await expect(fetched({ files: ['model.onnx'] })).rejects.toThrow(
      /several model files have this name; got "model.onnx"; valid: "onnx\/model.onnx", "other/,
    );
  });

  it('are missing in other repositories', async () => {
    hub.push({ 'config.json': { bytes: CONFIG } });
    await expect(fetched()).rejects.toThrow(/MODEL_DOWNLOAD: the repository holds no ONNX model/);
  });
});

describe('an interrupted download', () => {
  /** Storage sends this many bytes of the data a connection, then breaks it. */
  function breakingAfter(bytes: number, times: number): void {
    let broken = 0;
    hub.fault = (request, response, body) => {
      if (!isData(request) || broken >= times) return false;
      broken++;
      const from = Number(/^bytes=(\d+)-/.exec(request.range ?? 'bytes=0-')?.[1]);
      const part = body.subarray(from, from + bytes);
      hub.sent += part.length;
      response.writeHead(from === 0 ? 200 : 206, {
        'content-length': body.length - from,
        ...(from === 0
          ? {}
          : { 'content-range': `bytes ${from}-${body.length - 1}/${body.length}` }),
      });
      response.write(part, () => setTimeout(() => response.destroy(), 20));
      return true;
    };
  }
  const ranges = () => hub.requests.filter(isData).map(({ range }) => range);
  const everything = NEEDED.reduce((sum, path) => sum + FILES[path]!.bytes.length, 0);

  it('goes on by itself, without fetching bytes twice', async () => {
    // More breaks than retries: those that made progress do not count.
    breakingAfter(1000, 4);
    const model = await fetched();
    expect(ranges()).toEqual([undefined, ...[1, 2, 3, 4].map((n) => `bytes=${n}000-`)]);
    expect(hub.sent).toBe(everything);
    expect(model.fetchedBytes).toBe(everything);
    expect(await readFile(join(model.folder, DATA))).toEqual(Buffer.from(data));
  });

  it('goes on in the next run', async () => {
    breakingAfter(1000, 1);
    await expect(fetched({ retries: 0 })).rejects.toThrow(
      /MODEL_DOWNLOAD: onnx\/model.onnx_data cannot be fetched: .*kept and not fetched twice/,
    );
    const model = await fetched();
    expect(ranges()).toEqual([undefined, 'bytes=1000-']);
    expect(hub.sent).toBe(everything);
    expect(await readFile(join(model.folder, DATA))).toEqual(Buffer.from(data));
  });

  it('goes on after the process died', async () => {
    breakingAfter(1000, 1);
    await fetched({ retries: 0 }).catch(() => undefined);
    const part = (await filesBelow(cacheDir)).find((path) => path.endsWith('.part'))!;
    // Of a process that cannot be: numbers end at 2^22 on Linux.
    const left = join(cacheDir, part.replace(/\.\d+-\d+\.part$/, '.99999999-0.part'));
    await writeFile(left, data.subarray(0, 1500));
    await rm(join(cacheDir, part));
    await fetched();
    expect(ranges()).toEqual([undefined, 'bytes=1500-']);
    expect((await readdir(dirname(left))).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('stops with the reason of its signal, and goes on later', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    hub.fault = (request, response, body) => {
      if (!isData(request) || request.range !== undefined) return false;
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.subarray(0, 2000));
      hub.sent += 2000;
      return true;
    };
    const onProgress: FetchModelOptions['onProgress'] = ({ file }) => {
      if (file === DATA) abort.abort(reason);
    };
    await expect(fetched({ signal: abort.signal, onProgress })).rejects.toBe(reason);
    await fetched();
    expect(ranges()).toEqual([undefined, 'bytes=2000-']);
    expect(hub.sent).toBe(everything);
    await expect(fetched({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('starts over where the server knows no ranges', async () => {
    breakingAfter(1000, 1);
    const breaking = hub.fault;
    hub.fault = (request, response, body) => {
      if (breaking(request, response, body)) return true;
      if (!isData(request)) return false;
      response.writeHead(200, { 'content-length': body.length }).end(body);
      return true;
    };
    const model = await fetched();
    expect(await readFile(join(model.folder, DATA))).toEqual(Buffer.from(data));
    expect(model.fetchedBytes).toBe(everything + 1000);
  });

  it('fetches a part again that does not fit the rest', async () => {
    breakingAfter(1000, 1);
    await fetched({ retries: 0 }).catch(() => undefined);
    const part = (await filesBelow(cacheDir)).find((path) => path.endsWith('.part'))!;
    await writeFile(join(cacheDir, part), new Uint8Array(1000));
    const model = await fetched();
    expect(ranges()).toEqual([undefined, 'bytes=1000-', undefined]);
    expect(await readFile(join(model.folder, DATA))).toEqual(Buffer.from(data));
  });
});

describe('a hub that misbehaves', () => {
  const replaced = (bytes: Uint8Array) => {
    hub.fault = (request, response) => {
      if (!isData(request)) return false;
      response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
      return true;
    };
  };
  async function expectNoData(): Promise<void> {
    const left = await filesBelow(cacheDir);
    expect(left.filter((path) => path.includes('model.onnx_data'))).toEqual([]);
    expect(left.filter((path) => path.startsWith('records'))).toEqual([]);
  }

  it('sends other bytes of the same size', async () => {
    const other = Uint8Array.from(data);
    other[5] = other[5]! ^ 1;
    replaced(other);
    await expect(fetched()).rejects.toThrow(
      /MODEL_DOWNLOAD: onnx\/model.onnx_data does not have the SHA-256 that the hub states/,
    );
    await expectNoData();
    expect((await filesBelow(cacheDir)).filter((path) => path.endsWith('.part'))).toEqual([]);
    hub.fault = () => false;
    await fetched();
  });

  it('sends another small file of the same size', async () => {
    hub.fault = ({ path }, response) => {
      if (!path.endsWith('/config.json')) return false;
      response.end(text('{"model_type":"LLAMA"}'));
      return true;
    };
    await expect(fetched()).rejects.toThrow(/config.json does not have the git hash/);
  });

  it('ends a file early without an error', async () => {
    hub.fault = (request, response, body) => {
      if (!isData(request)) return false;
      const from = Number(/^bytes=(\d+)-/.exec(request.range ?? 'bytes=0-')?.[1]);
      if (from > 0)
        response.writeHead(206, {
          'content-range': `bytes ${from}-${body.length - 1}/${body.length}`,
        });
      response.end(from === 0 ? body.subarray(0, 700) : '');
      return true;
    };
    await expect(fetched()).rejects.toThrow(/it ends after 700 of \d+ bytes/);
    await expectNoData();
  });

  it('sends more than it stated', async () => {
    replaced(Buffer.concat([data, data]));
    await expect(fetched()).rejects.toThrow(/longer than the hub states/);
    await expectNoData();
  });

  it('states a larger size than there is', async () => {
    hub.listed = (entries) =>
      entries.map((entry) =>
        entry.path === DATA && entry.lfs !== undefined
          ? { ...entry, lfs: { ...entry.lfs, size: entry.lfs.size + 10 } }
          : entry,
      );
    await expect(fetched()).rejects.toThrow(
      /MODEL_DOWNLOAD: onnx\/model.onnx_data cannot be fetched/,
    );
    await expectNoData();
  });

  it('sends another range than was asked for', async () => {
    hub.fault = (request, response, body) => {
      if (!isData(request)) return false;
      response.writeHead(206, { 'content-range': `bytes 5-9/${body.length}` });
      response.end(body.subarray(5, 10));
      return true;
    };
    await expect(fetched()).rejects.toThrow(/bytes that were not asked for \(bytes 5-9/);
  });

  it('says nothing', async () => {
    hub.fault = (request) => isData(request);
    await expect(fetched({ timeout: 60, retries: 1 })).rejects.toThrow(/nothing came for 60 ms/);
    expect(hub.requests.filter(isData)).toHaveLength(2);
    hub.fault = ({ path }) => path.includes('/revision/');
    await expect(fetched({ timeout: 60, retries: 0 })).rejects.toThrow(
      /MODEL_DOWNLOAD: the hub cannot be asked: nothing came for 60 ms/,
    );
  });

  it('stops in the middle of a file', async () => {
    hub.fault = (request, response, body) => {
      if (!isData(request) || request.range !== undefined) return false;
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.subarray(0, 900));
      return true;
    };
    await fetched({ timeout: 60 });
    expect(hub.requests.filter(isData).map(({ range }) => range)).toEqual([
      undefined,
      'bytes=900-',
    ]);
  });

  it.each([429, 500, 503])('answers %i for a while', async (status) => {
    let left = 2;
    hub.fault = ({ path }, response) => {
      if (!path.endsWith('config.json') || left-- <= 0) return false;
      response.writeHead(status, status === 429 ? { 'retry-after': '0' } : {}).end();
      return true;
    };
    await fetched();
    left = 9;
    hub.push({ ...FILES });
    await expect(fetched()).rejects.toThrow(`status ${status}`);
  });

  it.each([
    [401, /accept its terms/],
    [403, /accept its terms/],
    [404, /Correct the name or the revision/],
  ])('answers %i, which is not tried again', async (status, next) => {
    hub.fault = ({ path }, response) => {
      if (!path.includes('/revision/')) return false;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: `no access with ${TOKEN}` }));
      return true;
    };
    const error = await fetched({ token: TOKEN }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'MODEL_DOWNLOAD', next: expect.stringMatching(next) });
    expect(hub.requests).toHaveLength(1);
    expect(`${(error as Error).message}${(error as Error).stack}`).not.toContain(TOKEN);
  });

  it('does not know the revision', async () => {
    await expect(fetched({ revision: 'v9' })).rejects.toThrow(/status 404/);
  });

  it.each(['../../../etc/passwd', '/etc/passwd', 'onnx/../../x', 'a//b', 'C:/x', '..\\x', './x'])(
    'lists the file %s',
    async (path) => {
      hub.listed = (entries) => [...entries, { type: 'file', path, size: 3 }];
      await expect(fetched()).rejects.toThrow(
        /MODEL_DOWNLOAD: a file name of the repository leaves/,
      );
      expect(hub.filesAsked()).toEqual([]);
    },
  );

  it('has a model whose data lies elsewhere', async () => {
    const outside = withExternalData(tiny, '../../outside');
    hub.push({ ...FILES, 'onnx/model.onnx': { bytes: outside.bytes, lfs: true } });
    await expect(fetched()).rejects.toThrow(
      /leaves its folder, which is refused; got "..\/..\/out/,
    );
    const missing = withExternalData(tiny, 'weights');
    hub.push({ ...FILES, 'onnx/model.onnx': { bytes: missing.bytes, lfs: true } });
    await expect(fetched()).rejects.toThrow(/lacks the external data .*got "onnx\/weights"/);
  });

  it('has a model that is none', async () => {
    hub.push({ ...FILES, 'onnx/model.onnx': { bytes: text('version https://git-lfs') } });
    await expect(fetched()).rejects.toThrow(/MODEL_INVALID: .*not a readable ONNX model/);
  });

  it.each([
    ['no list', { error: 'busy' }],
    ['entries without a size', [{ type: 'file', path: 'config.json' }]],
    ['a hash that is none', [{ type: 'file', path: 'x', size: 1, lfs: { oid: 'no', size: 1 } }]],
    ['nothing', [null]],
  ])('lists %s', async (_, listed) => {
    hub.listed = () => listed;
    await expect(fetched()).rejects.toMatchObject({ code: 'MODEL_DOWNLOAD' });
  });
});

describe('the token', () => {
  it('goes to the endpoint, never to where it redirects', async () => {
    await fetched({ token: TOKEN });
    for (const { server, authorization } of hub.requests)
      expect(authorization).toBe(server === 'hub' ? `Bearer ${TOKEN}` : undefined);
    expect(hub.requests.some(({ server }) => server === 'storage')).toBe(true);
  });

  it('does not follow a page of the list to another host', async () => {
    const other = new TinyHub(NAME);
    await other.start();
    try {
      hub.fault = ({ path }, response) => {
        if (!path.includes('/tree/')) return false;
        response.setHeader('link', `<${other.endpoint}/api/models/${NAME}/tree/x>; rel="next"`);
        response.end('[]');
        return true;
      };
      await fetched({ token: TOKEN }).catch(() => undefined);
      expect(other.requests.map(({ authorization }) => authorization)).toEqual([undefined]);
    } finally {
      await other.stop();
    }
  });

  it.each([
    ['with a line end', { token: `${TOKEN}\nx` }],
    ['over http to another host', { token: TOKEN, endpoint: 'http://mirror.example' }],
    ['in the endpoint', { endpoint: `https://user:${TOKEN}@mirror.example` }],
    ['beside a misspelt option', { token: TOKEN, revison: 'main' }],
  ])('%s is OPTION_INVALID and not shown', async (_, options) => {
    const error = await fetched(options as FetchModelOptions).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'OPTION_INVALID' });
    expect(JSON.stringify([error, (error as Error).message])).not.toContain(TOKEN);
  });
});

describe('refusals', () => {
  it.each(['tiny', 'a/b/c', '../x', 'a/..', '.a/b', 'a/b..c', 'a b/c', ''])(
    'the name %j is OPTION_INVALID',
    async (name) => {
      await expect(fetchModel(name, { endpoint: hub.endpoint, cacheDir })).rejects.toThrow(
        /OPTION_INVALID/,
      );
      expect(hub.requests).toEqual([]);
    },
  );

  it.each([
    [{ revision: '' }],
    [{ revision: 'a b' }],
    [{ files: [] }],
    [{ endpoint: 'ftp://x' }],
    [{ timeout: 0 }],
    [{ retries: -1 }],
    [{ sginal: 1 }],
  ])('%j is OPTION_INVALID', async (options) => {
    await expect(fetched(options as object)).rejects.toMatchObject({ code: 'OPTION_INVALID' });
  });

  it('a cache that cannot be written is MODEL_DOWNLOAD', async () => {
    const file = join(cacheDir, 'file');
    await writeFile(file, '');
    await expect(fetched({ cacheDir: file })).rejects.toThrow(
      /MODEL_DOWNLOAD: the model cannot be written to the cache/,
    );
  });

  it('an error of onProgress stays what it is', async () => {
    const fault = new TypeError('mine');
    const onProgress = () => {
      throw fault;
    };
    await expect(fetched({ onProgress })).rejects.toBe(fault);
  });
});
