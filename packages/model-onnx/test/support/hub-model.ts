/**
 * A tiny model on a tiny hub, for tests of fetching.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { type FetchedModel, type FetchModelOptions, fetchModel } from '../../src/index.js';
import { modelBytes } from './graph-writer.js';
import { tinyDecoder, withExternalData } from './tiny-decoders.js';
import { type HubFile, type HubRequest, TinyHub } from './tiny-hub.js';
import { multiHead } from './tiny-multi-head.js';

export const NAME = 'somebody/tiny-model';
export const TOKEN = 'hf_not-for-logs';
export const text = (value: string) => new TextEncoder().encode(value);

export const tiny = tinyDecoder(multiHead(), { sizes: { layers: 1 } });
export const whole = modelBytes(tiny.model);
export const { bytes: split, data } = withExternalData(tiny, 'model.onnx_data');
export const CONFIG = text('{"model_type":"llama"}');

export const FILES: Readonly<Record<string, HubFile>> = {
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
export const NEEDED = [
  'chat_template.jinja',
  'config.json',
  'generation_config.json',
  'onnx/model.onnx',
  'onnx/model.onnx_data',
  'tokenizer.json',
  'tokenizer_config.json',
];
export const DATA = 'onnx/model.onnx_data';

export interface HubModel {
  /** Anew for each test, with `FILES`. */
  readonly hub: TinyHub;
  readonly cacheDir: string;
  fetched(options?: FetchModelOptions): Promise<FetchedModel>;
}

/** A hub with a tiny model, and an empty cache, for each test of a file. */
export function hubModel(): HubModel {
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
  return {
    get hub() {
      return hub;
    },
    get cacheDir() {
      return cacheDir;
    },
    fetched: (options = {}) =>
      fetchModel(NAME, {
        endpoint: hub.endpoint,
        cacheDir,
        timeout: 2000,
        retryDelay: 1,
        retries: 2,
        ...options,
      }),
  };
}

/** Paths of all files below a folder. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

export const isData = ({ server, path }: HubRequest) => server === 'storage' && path.endsWith(DATA);
