// Paths that name no model are refused in words.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openUncut } from '../src/decoder/uncut.js';
import { openModelFiles } from '../src/model/model-files.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lowbit-kv-files-'));
  await mkdir(join(folder, 'onnx', 'model_fp16.onnx'), { recursive: true });
  await writeFile(join(folder, 'config.json'), '{}');
  await writeFile(join(folder, 'onnx', 'model.onnx'), 'not a model');
  await writeFile(join(folder, 'notes.txt'), 'nor this');
});
afterAll(() => rm(folder, { recursive: true }));

it.each<[string, string, string | undefined, RegExp]>([
  ['nothing there', 'nowhere', undefined, /there is no model here/],
  ['another file', 'notes.txt', undefined, /neither a folder nor a model file.*ends in \.onnx/],
  ['a file, and which file', 'onnx/model.onnx', 'model_q4', /named twice.*got "model_q4"/],
  ['a folder, and a file that it has not', '.', 'model_q4', /no such model file.*model_fp16/],
])('%s', async (_, path, model, message) => {
  const opened = openModelFiles(join(folder, path), model === undefined ? {} : { model });
  const error = await opened.catch((reason: unknown) => reason);
  expect(LowbitKvError.is(error, 'MODEL_INVALID')).toBe(true);
  expect((error as Error).message).toMatch(message);
});

it.each([
  ['a folder in place of the file', 'model_fp16', /cannot be read.*EISDIR/],
  ['a file that is no model', 'model', /not a readable ONNX model/],
])('%s', async (_, model, message) => {
  const files = await openModelFiles(folder, { model });
  const error = await openUncut(files).catch((reason: unknown) => reason);
  expect(LowbitKvError.is(error, 'MODEL_INVALID')).toBe(true);
  expect((error as Error).message).toMatch(message);
});
