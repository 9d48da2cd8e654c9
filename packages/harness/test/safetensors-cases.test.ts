/** The fmt-safetensors-files case: every file whole, from memory and from disk. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSafetensors } from '../src/index.js';
import { cpuTime } from './support/cpu-time.js';
import { refusal } from './support/failures.js';
import { temporaryFolder } from './support/temporary-folder.js';

interface FileCase {
  readonly name: string;
  readonly base64: string;
  readonly bytes: number;
  readonly accept: boolean | 'either';
  readonly reason: string;
  readonly values?: Record<string, number[]>;
}

const url = new URL('../../../fixtures/cases/fmt-safetensors-files.json', import.meta.url);
const files = JSON.parse(readFileSync(url, 'utf8')).input.files as FileCase[];
const folder = temporaryFolder();

/** What the message of a refused file must say, and the tensor it must name. */
const REFUSALS: Record<string, { says: RegExp; tensor?: string }> = {
  'empty file': { says: /shorter than the 8 bytes/ },
  '7 bytes': { says: /shorter than the 8 bytes.*got 7/ },
  'header length 0': { says: /header is empty/ },
  'header longer than file': { says: /header has 10000 bytes.*at most 58/ },
  'header length 2^63': { says: /header has 9223372036854775808 bytes/ },
  'header length 2^53+1': { says: /header has 9007199254740993 bytes/ },
  'pickle magic, not safetensors': { says: /not a safetensors file.*pickle/ },
  'header is an array': { says: /found "\[\]" where "\{" at the start of the header/ },
  'header not JSON': { says: /the header ends where "\{" for a tensor/, tensor: 'k' },
  'reversed offsets': { says: /reversed.*\[4,0\]/, tensor: 'k' },
  'offset past end': { says: /cut short or the offsets lie.*up to 4/, tensor: 'k' },
  'negative offset': { says: /found "-4.*unsigned integer in data_offsets/, tensor: 'k' },
  'fractional offset': { says: /found "4\.5.*unsigned integer in data_offsets/, tensor: 'k' },
  'one offset only': { says: /two entries/, tensor: 'k' },
  'size mismatch (claims 4 MB)': { says: /4000000 bytes, data_offsets span 4/, tensor: 'k' },
  'overlapping tensors': { says: /overlaps "a"/, tensor: 'b' },
  'hole between tensors': { says: /bytes 4 to 8 of the data belong to no tensor/, tensor: 'b' },
  'bytes after last tensor': { says: /after the last tensor/ },
  'unknown dtype': { says: /unknown dtype.*"F12".*"BF16"/, tensor: 'k' },
  'shape product overflows': { says: /no size.*\[4294967296,4294967296\]/, tensor: 'k' },
  'shape not integers': { says: /unsigned integer in shape/, tensor: 'k' },
  'duplicate name': { says: /duplicate name "k"/ },
};

describe.each(['memory', 'file'])('safetensors case files, from %s', (place) => {
  const locate = (file: FileCase) => {
    const bytes = new Uint8Array(Buffer.from(file.base64, 'base64'));
    expect(bytes.length).toBe(file.bytes);
    if (place === 'memory') return bytes;
    const path = join(folder, `${files.indexOf(file)}.safetensors`);
    writeFileSync(path, bytes);
    return path;
  };

  it.each(files.filter((file) => file.accept !== false))('accepts: $name', async (file) => {
    const opened = await openSafetensors(locate(file));
    const values = file.values ?? {};
    expect([...opened.tensors.keys()].sort()).toEqual(Object.keys(values).sort());
    for (const name of Object.keys(values)) {
      expect([...(await opened.readF32(name))]).toEqual(values[name]);
    }
    await opened.close();
  });

  it.each(files.filter((file) => file.accept === false))('refuses: $name', async (file) => {
    const expected = REFUSALS[file.name];
    if (expected === undefined) throw new Error(`no expectation for "${file.name}"`);
    const input = locate(file);
    const memoryBefore = process.memoryUsage().arrayBuffers;
    const start = cpuTime();
    const error = await refusal(openSafetensors(input), 'SAFETENSORS_INVALID');
    expect(cpuTime() - start).toBeLessThan(1000);
    expect(process.memoryUsage().arrayBuffers - memoryBefore).toBeLessThan(64 * 1024);
    expect(error.message).toMatch(expected.says);
    expect(error.where?.tensor).toBe(expected.tensor);
    expect(error.where?.file).toBe(place === 'file' ? input : '(bytes in memory)');
  });
});

it('reads the metadata of the case that has some, and keeps it apart from the tensors', async () => {
  const file = files.find(({ name }) => name === 'metadata present');
  const opened = await openSafetensors(new Uint8Array(Buffer.from(file?.base64 ?? '', 'base64')));
  expect([...opened.metadata]).toEqual([
    ['model', 'x'],
    ['layers', '2'],
  ]);
});
