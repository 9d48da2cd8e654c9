// Fetching models: what is fetched, checked, resumed and kept.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { FetchModelOptions } from '../src/index.js';
import { openModelFiles } from '../src/model/model-files.js';
import {
  CONFIG,
  DATA,
  data,
  FILES,
  filesBelow,
  hubModel,
  isData,
  NAME,
  NEEDED,
  text,
  whole,
} from './support/hub-model.js';
import { type HubFile, TinyHub } from './support/tiny-hub.js';

const at = hubModel();
const { fetched } = at;

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
      commit: at.hub.revisions.get('main'),
      models: [join(model.folder, 'onnx', 'model.onnx')],
      fetchedBytes: NEEDED.reduce((sum, path) => sum + FILES[path]!.bytes.length, 0),
    });
    const checked = Object.fromEntries(model.files.map((file) => [file.path, file.checked]));
    expect(checked).toMatchObject({ 'config.json': 'git', [DATA]: 'sha256' });
    expect((await openModelFiles(model.folder)).model).toBe(model.models[0]);
  });

  it('asks for the files of one commit, even when the branch moves meanwhile', async () => {
    const first = at.hub.revisions.get('main');
    at.hub.fault = ({ path }) => {
      if (path.includes('/tree/') && at.hub.commits.size === 1)
        at.hub.push({ ...FILES, 'config.json': { bytes: text('{"model_type":"other"}') } });
      return false;
    };
    const model = await fetched();
    expect(model.commit).toBe(first);
    expect(await readFile(join(model.folder, 'config.json'))).toEqual(Buffer.from(CONFIG));
    expect(at.hub.filesAsked().every((path) => path.includes(`/${first}/`))).toBe(true);
  });

  it('follows the branch the next time, and keeps both commits', async () => {
    const before = await fetched();
    at.hub.push({ ...FILES, 'config.json': { bytes: text('{"model_type":"other"}') } });
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
    expect((await filesBelow(at.cacheDir)).filter((path) => path.endsWith('.part'))).toEqual([]);
  });
});

describe('the cache', () => {
  it('needs no network for a commit', async () => {
    const { commit, folder } = await fetched();
    await at.hub.stop();
    const again = await fetched({ revision: commit });
    expect(again).toMatchObject({ commit, folder, fetchedBytes: 0 });
    expect(again.files.map(({ path }) => path).sort()).toEqual(NEEDED);
  });

  it('needs no network offline, and only then takes a branch from memory', async () => {
    const { commit } = await fetched();
    await at.hub.stop();
    expect((await fetched({ offline: true })).commit).toBe(commit);
    await expect(fetched()).rejects.toThrow(/MODEL_DOWNLOAD: the hub cannot be asked/);
    await expect(fetched({ offline: true, revision: 'dev' })).rejects.toThrow(
      /MODEL_DOWNLOAD: the cache does not hold the model/,
    );
  });

  it('fetches no file twice, and again one that is gone or cut', async () => {
    const model = await fetched();
    const asked = at.hub.filesAsked().length;
    expect((await fetched()).fetchedBytes).toBe(0);
    expect(at.hub.filesAsked()).toHaveLength(asked);
    await rm(join(model.folder, 'config.json'));
    await writeFile(join(model.folder, DATA), data.subarray(1));
    expect((await fetched()).fetchedBytes).toBe(CONFIG.length + data.length);
    expect(at.hub.filesAsked()).toHaveLength(asked + 2);
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
    const record = (await filesBelow(at.cacheDir)).find((path) => path.endsWith(`${commit}.json`));
    await writeFile(join(at.cacheDir, record!), '{"listing":');
    await expect(fetched()).rejects.toThrow(/MODEL_DOWNLOAD: a file of the cache is damaged/);
  });
});

describe('several models', () => {
  beforeEach(() => {
    const q4: HubFile = { bytes: whole, lfs: true };
    at.hub.push({ ...FILES, 'onnx/model_q4.onnx': q4, 'other/model.onnx': q4 });
  });

  it('are listed, and none is fetched', async () => {
    await expect(fetched()).rejects.toMatchObject({
      code: 'MODEL_DOWNLOAD',
      message: expect.stringContaining('onnx/model.onnx, onnx/model_q4.onnx, other/model.onnx'),
      valid: ['onnx/model.onnx', 'onnx/model_q4.onnx', 'other/model.onnx'],
      next: expect.stringContaining('--model-file onnx/model.onnx'),
    });
    expect(at.hub.filesAsked()).toEqual([]);
  });

  it('are chosen by path or name, alone or together', async () => {
    for (const name of ['onnx/model_q4.onnx', 'model_q4.onnx', 'model_q4']) {
      const model = await fetched({ files: [name] });
      expect(model.models).toEqual([join(model.folder, 'onnx', 'model_q4.onnx')]);
    }
    expect(at.hub.filesAsked().filter((path) => path.includes('onnx'))).toHaveLength(1);
    const both = await fetched({ files: ['model_q4', 'onnx/model.onnx'] });
    expect(both.models).toHaveLength(2);
    expect(await filesBelow(both.folder)).toEqual([...NEEDED, 'onnx/model_q4.onnx'].sort());
    // The first choice is still whole.
    await at.hub.stop();
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
    at.hub.push({ 'config.json': { bytes: CONFIG } });
    await expect(fetched()).rejects.toThrow(/MODEL_DOWNLOAD: the repository holds no ONNX model/);
  });
});

describe('an interrupted download', () => {
  /** Storage sends this many bytes of the data a connection, then breaks it. */
  function breakingAfter(bytes: number, times: number): void {
    let broken = 0;
    at.hub.fault = (request, response, body) => {
      if (!isData(request) || broken >= times) return false;
      broken++;
      const from = Number(/^bytes=(\d+)-/.exec(request.range ?? 'bytes=0-')?.[1]);
      const part = body.subarray(from, from + bytes);
      at.hub.sent += part.length;
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
  const ranges = () => at.hub.requests.filter(isData).map(({ range }) => range);
  const everything = NEEDED.reduce((sum, path) => sum + FILES[path]!.bytes.length, 0);

  it('goes on by itself, without fetching bytes twice', async () => {
    // More breaks than retries: those that made progress do not count.
    breakingAfter(1000, 4);
    const model = await fetched();
    expect(ranges()).toEqual([undefined, ...[1, 2, 3, 4].map((n) => `bytes=${n}000-`)]);
    expect(at.hub.sent).toBe(everything);
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
    expect(at.hub.sent).toBe(everything);
    expect(await readFile(join(model.folder, DATA))).toEqual(Buffer.from(data));
  });

  it('goes on after the process died', async () => {
    breakingAfter(1000, 1);
    await fetched({ retries: 0 }).catch(() => undefined);
    const part = (await filesBelow(at.cacheDir)).find((path) => path.endsWith('.part'))!;
    // Of a process that cannot be: numbers end at 2^22 on Linux.
    const left = join(at.cacheDir, part.replace(/-\d+-\d+\.part$/, '-99999999-0.part'));
    await writeFile(left, data.subarray(0, 1500));
    await rm(join(at.cacheDir, part));
    await fetched();
    expect(ranges()).toEqual([undefined, 'bytes=1500-']);
    expect((await readdir(dirname(left))).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('leaves parts of other machines alone, whatever their processes are called', async () => {
    breakingAfter(1000, 1);
    await fetched({ retries: 0 }).catch(() => undefined);
    const own = (await filesBelow(at.cacheDir)).find((path) => path.endsWith('.part'))!;
    const other = own.replace(/\.[\da-f]{8}-\d+-\d+\.part$/, '.00000000-99999999-0.part');
    expect(other).not.toBe(own);
    await writeFile(join(at.cacheDir, other), data.subarray(0, 10));
    await fetched();
    expect((await filesBelow(at.cacheDir)).filter((path) => path.endsWith('.part'))).toEqual([
      other,
    ]);
    expect(await readFile(join(at.cacheDir, other))).toHaveLength(10);
  });

  it('stops with the reason of its signal, and goes on later', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    at.hub.fault = (request, response, body) => {
      if (!isData(request) || request.range !== undefined) return false;
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.subarray(0, 2000));
      at.hub.sent += 2000;
      return true;
    };
    const onProgress: FetchModelOptions['onProgress'] = ({ file }) => {
      if (file === DATA) abort.abort(reason);
    };
    await expect(fetched({ signal: abort.signal, onProgress })).rejects.toBe(reason);
    await fetched();
    expect(ranges()).toEqual([undefined, 'bytes=2000-']);
    expect(at.hub.sent).toBe(everything);
    await expect(fetched({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('starts over where the server knows no ranges', async () => {
    breakingAfter(1000, 1);
    const breaking = at.hub.fault;
    at.hub.fault = (request, response, body) => {
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
    const part = (await filesBelow(at.cacheDir)).find((path) => path.endsWith('.part'))!;
    await writeFile(join(at.cacheDir, part), new Uint8Array(1000));
    const model = await fetched();
    expect(ranges()).toEqual([undefined, 'bytes=1000-', undefined]);
    expect(await readFile(join(model.folder, DATA))).toEqual(Buffer.from(data));
  });
});
