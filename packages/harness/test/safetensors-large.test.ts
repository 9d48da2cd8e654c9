/** Files above 2 and 4 GiB (sparse), and headers near and above the limit. */
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSafetensors, SAFETENSORS_HEADER_LIMIT } from '../src/index.js';
import { cpuTime } from './support/cpu-time.js';
import { refusal } from './support/failures.js';
import { bytesOf, rawFile } from './support/safetensors-bytes.js';
import { temporaryFolder } from './support/temporary-folder.js';

const url = new URL('../../../fixtures/cases/fmt-large-sparse-file.json', import.meta.url);
const largeCase = JSON.parse(readFileSync(url, 'utf8'));
const folder = temporaryFolder();
const PAD_BYTES = 2147483664;

/** `pad` of `padBytes` zeros as a hole, then `k` = [1, 2, 3, 4]; `k` comes first in the header. */
async function sparseFile(name: string, padBytes: number): Promise<string> {
  const header = rawFile(
    JSON.stringify({
      k: { dtype: 'F32', shape: [4], data_offsets: [padBytes, padBytes + 16] },
      pad: { dtype: 'U8', shape: [padBytes], data_offsets: [0, padBytes] },
    }),
  );
  const path = join(folder, name);
  const file = await open(path, 'w');
  await file.write(header, 0, header.length, 0);
  await file.write(bytesOf(Float32Array.of(1, 2, 3, 4)), 0, 16, header.length + padBytes);
  await file.close();
  return path;
}

it('reads behind 2 GiB by position, in little memory', async () => {
  expect(largeCase.input.recipe).toContain(String(PAD_BYTES));
  const path = await sparseFile('above-2-gib.safetensors', PAD_BYTES);
  const residentBefore = process.memoryUsage().rss;
  const file = await openSafetensors(path);
  expect([...file.tensors.keys()]).toEqual(largeCase.input.headerTensorOrder);
  expect(file.tensors.get('k')?.byteOffset).toBe(
    (file.tensors.get('pad')?.byteOffset ?? 0) + PAD_BYTES,
  );
  expect([...(await file.readF32('k'))]).toEqual(largeCase.expected.k);
  expect([...(await file.readRows('pad', PAD_BYTES - 2, 2))]).toEqual(largeCase.expected.padTail);
  expect([...(await file.readRows('pad', 2 ** 31 - 2, 4))]).toEqual([0, 0, 0, 0]);
  await file.close();
  expect(process.memoryUsage().rss - residentBefore).toBeLessThan(100e6);
});

it('reads behind 4 GiB, where 32-bit offsets wrap', async () => {
  const file = await openSafetensors(await sparseFile('above-4-gib.safetensors', 2 ** 32 + 5));
  expect([...(await file.readF32('k'))]).toEqual([1, 2, 3, 4]);
  expect([...(await file.readRows('k', 2, 1))]).toEqual([0, 0, 64, 64]);
  await file.close();
});

it('refuses a header above 100 MB that the file does hold, and names the limit', async () => {
  const path = join(folder, 'long-header.safetensors');
  const prefix = new Uint8Array(8);
  new DataView(prefix.buffer).setBigUint64(0, 132_095_296n, true);
  const handle = await open(path, 'w');
  await handle.write(prefix, 0, 8, 0);
  await handle.truncate(8 + 132_095_296);
  await handle.close();
  const memoryBefore = process.memoryUsage().arrayBuffers;
  const start = cpuTime();
  const error = await refusal(openSafetensors(path), 'SAFETENSORS_INVALID');
  expect(cpuTime() - start).toBeLessThan(1000);
  expect(process.memoryUsage().arrayBuffers - memoryBefore).toBeLessThan(1e6);
  expect(error.message).toContain('100000000');
  expect(error.value).toBe(132_095_296n);
});

it('reads a header as long as the limit, and refuses one byte more', async () => {
  const header = Buffer.alloc(SAFETENSORS_HEADER_LIMIT, 0x20);
  header.write('{}', 'latin1');
  expect((await openSafetensors(rawFile(header))).tensors.size).toBe(0);
  const longer = rawFile(Buffer.concat([header, Buffer.of(0x20)]));
  const error = await refusal(openSafetensors(longer), 'SAFETENSORS_INVALID');
  expect(error.message).toMatch(/longer than the limit/);
});

it.each([
  ['white space only', '', 0x20, /the header ends/],
  ['opening brackets only', '', 0x5b, /found "\[\[/],
  ['one name that never ends', '{"', 0x61, /ends inside a string/],
  ['one name of escapes that never ends', '{"', 0x5c, /ends inside a string/],
  ['one number that never ends', '{"k":{"shape":[', 0x37, /above 2\^53/],
])('refuses a header of 20 MB of %s within a second', async (_what, start, byte, says) => {
  const header = Buffer.alloc(20e6, byte);
  header.write(start, 'latin1');
  const file = rawFile(header);
  const begun = cpuTime();
  const error = await refusal(openSafetensors(file), 'SAFETENSORS_INVALID');
  expect(cpuTime() - begun).toBeLessThan(1000);
  expect(error.message).toMatch(says);
});

it('keeps the message short for a name of 20 MB', async () => {
  const name = new Uint8Array(20e6).fill(0x61);
  const header = Buffer.concat([Buffer.from('{"'), name, Buffer.from('":7}')]);
  const start = cpuTime();
  const error = await refusal(openSafetensors(rawFile(header)), 'SAFETENSORS_INVALID');
  expect(cpuTime() - start).toBeLessThan(1000);
  expect(error.message.length).toBeLessThan(1000);
});
