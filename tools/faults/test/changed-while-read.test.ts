// Files that somebody writes to while they are read: refused instead of read half old, half new. A file that is replaced as a
// whole stays what it was for who has it open.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSafetensors } from '@lowbit-kv/harness';
import { afterAll, expect, it } from 'vitest';
import { writeTinyCapture } from '../../../packages/cli/test/support/tiny-capture.js';
import { FolderFiles } from '../../../packages/model-onnx/src/model/external-files.js';

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-changed-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
/** Longer than the system's clock of files takes to go on. */
const TICK = 25;

it('a capture that is written over, with as many bytes', async () => {
  const path = join(folder, 'over.safetensors');
  await writeTinyCapture(path);
  const bytes = await readFile(path);
  const file = await openSafetensors(path);
  const [name] = [...file.tensors.keys()] as [string];
  const before = await file.read(name);
  await sleep(TICK);
  bytes.fill(0, bytes.length / 2);
  writeFileSync(path, bytes);
  await expect(file.read(name)).rejects.toThrow(
    /SAFETENSORS_INVALID: the file was written to while it was open.*rename it/,
  );
  expect(before.length).toBeGreaterThan(0);
  await file.close();
});

it('a capture that is cut short', async () => {
  const path = join(folder, 'cut.safetensors');
  await writeTinyCapture(path);
  const file = await openSafetensors(path);
  const name = [...file.tensors.keys()].at(-1) as string;
  writeFileSync(path, (await readFile(path)).subarray(0, 4000));
  await expect(file.read(name)).rejects.toThrow(
    /SAFETENSORS_INVALID: the file (became shorter|was written to) while it was open/,
  );
  await file.close();
});

it('a capture that is replaced', async () => {
  const path = join(folder, 'replaced.safetensors');
  await writeTinyCapture(path);
  const file = await openSafetensors(path);
  const [name] = [...file.tensors.keys()] as [string];
  const before = await file.read(name);
  await sleep(TICK);
  await writeTinyCapture(join(folder, 'next'), { model: 'another' }, 64);
  renameSync(join(folder, 'next'), path);
  expect(await file.read(name)).toEqual(before);
  await file.close();
});

it('external data of a model', async () => {
  const path = join(folder, 'data');
  writeFileSync(path, new Uint8Array(1000).fill(1));
  const files = new FolderFiles(folder);
  expect(await files.size('data')).toBe(1000);
  expect((await files.read('data', 0, 10))[0]).toBe(1);
  await sleep(TICK);
  writeFileSync(path, new Uint8Array(1000).fill(2));
  await expect(files.read('data', 0, 10)).rejects.toThrow(
    /MODEL_INVALID: external data of the model was written to while it was read: data/,
  );
  // Who opens it anew reads what is there now.
  expect((await new FolderFiles(folder).read('data', 0, 10))[0]).toBe(2);
});
