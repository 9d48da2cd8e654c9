// Fetching models from a hub that misbehaves, and what is refused.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FetchModelOptions, fetchModel } from '../src/index.js';
import {
  DATA,
  data,
  FILES,
  filesBelow,
  hubModel,
  isData,
  NAME,
  TOKEN,
  text,
  tiny,
} from './support/hub-model.js';
import { withExternalData } from './support/tiny-decoders.js';
import { TinyHub } from './support/tiny-hub.js';

const at = hubModel();
const { fetched } = at;

describe('a hub that misbehaves', () => {
  const replaced = (bytes: Uint8Array) => {
    at.hub.fault = (request, response) => {
      if (!isData(request)) return false;
      response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
      return true;
    };
  };
  async function expectNoData(): Promise<void> {
    const left = await filesBelow(at.cacheDir);
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
    expect((await filesBelow(at.cacheDir)).filter((path) => path.endsWith('.part'))).toEqual([]);
    at.hub.fault = () => false;
    await fetched();
  });

  it('states no bytes for a file that has some', async () => {
    at.hub.listed = (entries) =>
      entries.map((entry) =>
        entry.path === DATA && entry.lfs ? { ...entry, lfs: { ...entry.lfs, size: 0 } } : entry,
      );
    await expect(fetched()).rejects.toThrow(/model.onnx_data does not have the SHA-256/);
    await expectNoData();
  });

  it('sends another small file of the same size', async () => {
    at.hub.fault = ({ path }, response) => {
      if (!path.endsWith('/config.json')) return false;
      response.end(text('{"model_type":"LLAMA"}'));
      return true;
    };
    await expect(fetched()).rejects.toThrow(/config.json does not have the git hash/);
  });

  it('ends a file early without an error', async () => {
    at.hub.fault = (request, response, body) => {
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
    at.hub.listed = (entries) =>
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
    at.hub.fault = (request, response, body) => {
      if (!isData(request)) return false;
      response.writeHead(206, { 'content-range': `bytes 5-9/${body.length}` });
      response.end(body.subarray(5, 10));
      return true;
    };
    await expect(fetched()).rejects.toThrow(/bytes that were not asked for \(bytes 5-9/);
  });

  it('says nothing', async () => {
    at.hub.fault = (request) => isData(request);
    await expect(fetched({ timeout: 60, retries: 1 })).rejects.toThrow(/nothing came for 60 ms/);
    expect(at.hub.requests.filter(isData)).toHaveLength(2);
    at.hub.fault = ({ path }) => path.includes('/revision/');
    await expect(fetched({ timeout: 60, retries: 0 })).rejects.toThrow(
      /MODEL_DOWNLOAD: the hub cannot be asked: nothing came for 60 ms/,
    );
  });

  it('stops in the middle of a file', async () => {
    at.hub.fault = (request, response, body) => {
      if (!isData(request) || request.range !== undefined) return false;
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.subarray(0, 900));
      return true;
    };
    await fetched({ timeout: 60 });
    expect(at.hub.requests.filter(isData).map(({ range }) => range)).toEqual([
      undefined,
      'bytes=900-',
    ]);
  });

  it.each([429, 500, 503])('answers %i for a while', async (status) => {
    let left = 2;
    at.hub.fault = ({ path }, response) => {
      if (!path.endsWith('config.json') || left-- <= 0) return false;
      response.writeHead(status, status === 429 ? { 'retry-after': '0' } : {}).end();
      return true;
    };
    await fetched();
    left = 9;
    at.hub.push({ ...FILES });
    await expect(fetched()).rejects.toThrow(`status ${status}`);
  });

  it.each([
    [401, /accept its terms/],
    [403, /accept its terms/],
    [404, /Correct the name or the revision/],
  ])('answers %i, which is not tried again', async (status, next) => {
    at.hub.fault = ({ path }, response) => {
      if (!path.includes('/revision/')) return false;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: `no access with ${TOKEN}` }));
      return true;
    };
    const error = await fetched({ token: TOKEN }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: 'MODEL_DOWNLOAD', next: expect.stringMatching(next) });
    expect(at.hub.requests).toHaveLength(1);
    expect(`${(error as Error).message}${(error as Error).stack}`).not.toContain(TOKEN);
  });

  it('does not know the revision', async () => {
    await expect(fetched({ revision: 'v9' })).rejects.toThrow(/status 404/);
  });

  it.each(['../../../etc/passwd', '/etc/passwd', 'onnx/../../x', 'a//b', 'C:/x', '..\\x', './x'])(
    'lists the file %s',
    async (path) => {
      at.hub.listed = (entries) => [...entries, { type: 'file', path, size: 3 }];
      await expect(fetched()).rejects.toThrow(
        /MODEL_DOWNLOAD: a file name of the repository leaves/,
      );
      expect(at.hub.filesAsked()).toEqual([]);
    },
  );

  it('has a list that leads to itself', async () => {
    at.hub.fault = ({ path }, response) => {
      if (!path.includes('/tree/')) return false;
      const link = `<${at.hub.endpoint}${encodeURI(path)}?page=0>; rel="next"`;
      response.writeHead(200, { 'content-type': 'application/json', link }).end('[]');
      return true;
    };
    await expect(fetched()).rejects.toThrow(/MODEL_DOWNLOAD: the list of files does not end/);
    expect(at.hub.requests.length).toBeLessThan(300);
  });

  it('has a model whose data lies elsewhere', async () => {
    const outside = withExternalData(tiny, '../../outside');
    at.hub.push({ ...FILES, 'onnx/model.onnx': { bytes: outside.bytes, lfs: true } });
    await expect(fetched()).rejects.toThrow(
      /leaves its folder, which is refused; got "..\/..\/out/,
    );
    const missing = withExternalData(tiny, 'weights');
    at.hub.push({ ...FILES, 'onnx/model.onnx': { bytes: missing.bytes, lfs: true } });
    await expect(fetched()).rejects.toThrow(/lacks the external data .*got "onnx\/weights"/);
  });

  it('has a model that is none', async () => {
    at.hub.push({ ...FILES, 'onnx/model.onnx': { bytes: text('version https://git-lfs') } });
    await expect(fetched()).rejects.toThrow(/MODEL_INVALID: .*not a readable ONNX model/);
  });

  it.each([
    ['no list', { error: 'busy' }],
    ['entries without a size', [{ type: 'file', path: 'config.json' }]],
    ['a hash that is none', [{ type: 'file', path: 'x', size: 1, lfs: { oid: 'no', size: 1 } }]],
    ['nothing', [null]],
  ])('lists %s', async (_, listed) => {
    at.hub.listed = () => listed;
    await expect(fetched()).rejects.toMatchObject({ code: 'MODEL_DOWNLOAD' });
  });
});

describe('the token', () => {
  it('goes to the endpoint, never to where it redirects', async () => {
    await fetched({ token: TOKEN });
    for (const { server, authorization } of at.hub.requests)
      expect(authorization).toBe(server === 'hub' ? `Bearer ${TOKEN}` : undefined);
    expect(at.hub.requests.some(({ server }) => server === 'storage')).toBe(true);
  });

  it('does not follow a page of the list to another host', async () => {
    const other = new TinyHub(NAME);
    await other.start();
    try {
      at.hub.fault = ({ path }, response) => {
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
      await expect(
        fetchModel(name, { endpoint: at.hub.endpoint, cacheDir: at.cacheDir }),
      ).rejects.toThrow(/OPTION_INVALID/);
      expect(at.hub.requests).toEqual([]);
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
    const file = join(at.cacheDir, 'file');
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
