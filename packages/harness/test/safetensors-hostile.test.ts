/** Headers and paths that lie, one rule each. */
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileSource } from '../src/file-source.js';
import { openSafetensors } from '../src/index.js';
import { refusal } from './support/failures.js';
import { bytesOf, oneTensor, rawFile, safetensorsBytes } from './support/safetensors-bytes.js';
import { temporaryFolder } from './support/temporary-folder.js';

const folder = temporaryFolder();
const ONE = '{"dtype":"F32","shape":[1],"data_offsets":[0,4]}';
const EMPTY = '{"dtype":"F32","shape":[0],"data_offsets":[0,0]}';
const four = new Uint8Array(4);

describe('malformed headers', () => {
  it.each<[what: string, file: Uint8Array, says: RegExp]>([
    [
      'a duplicate name, spelled by an escape',
      rawFile(`{"k":${EMPTY},"\\u006b":${EMPTY}}`),
      /duplicate name "k"/,
    ],
    ['a duplicate empty tensor', rawFile(`{"k":${EMPTY},"k":${EMPTY}}`), /duplicate name "k"/],
    [
      'a duplicate metadata member',
      rawFile('{"__metadata__":{"a":"1","a":"2"}}'),
      /duplicate name "a"/,
    ],
    [
      'two metadata members',
      rawFile('{"__metadata__":{},"__metadata__":{}}'),
      /duplicate name "__metadata__"/,
    ],
    [
      'a duplicate field',
      oneTensor('{"dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4]}'),
      /duplicate name "dtype"/,
    ],
    [
      'metadata that is not text',
      rawFile('{"__metadata__":{"layers":2}}'),
      /a metadata value in quotes/,
    ],
    ['metadata that is null', rawFile('{"__metadata__":null}'), /"\{" in __metadata__/],
    [
      'an unknown field',
      oneTensor('{"dtype":"F32","shape":[1],"data_offsets":[0,4],"scale":2}'),
      /unknown field "scale"/,
    ],
    ['no dtype', oneTensor('{"shape":[1],"data_offsets":[0,4]}'), /field dtype is missing/],
    ['no shape', oneTensor('{"dtype":"F32","data_offsets":[0,4]}'), /field shape is missing/],
    ['no data_offsets', oneTensor('{"dtype":"F32","shape":[1]}'), /field data_offsets is missing/],
    [
      'three data_offsets',
      oneTensor('{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}'),
      /more than 2 entries/,
    ],
    [
      'a dtype that is a number',
      oneTensor('{"dtype":32,"shape":[1],"data_offsets":[0,4]}'),
      /name of a dtype/,
    ],
    [
      'a dtype inherited by every object',
      oneTensor('{"dtype":"constructor","shape":[1],"data_offsets":[0,4]}'),
      /unknown dtype/,
    ],
    [
      'a leading zero',
      oneTensor('{"dtype":"F32","shape":[01],"data_offsets":[0,4]}'),
      /leading zero/,
    ],
    [
      'an exponent',
      oneTensor('{"dtype":"F32","shape":[1e0],"data_offsets":[0,4]}'),
      /unsigned integer in shape/,
    ],
    [
      'an integer that f64 rounds',
      oneTensor('{"dtype":"F32","shape":[1],"data_offsets":[9007199254740993,9007199254740997]}'),
      /above 2\^53/,
    ],
    [
      'an integer of 400 digits',
      oneTensor(`{"dtype":"F32","shape":[1${'0'.repeat(400)}],"data_offsets":[0,4]}`),
      /above 2\^53/,
    ],
    [
      '65 dimensions',
      oneTensor(`{"dtype":"F32","shape":[${Array(65).fill(1)}],"data_offsets":[0,4]}`),
      /more than 64 entries/,
    ],
    [
      'nested arrays',
      oneTensor(`{"dtype":"F32","shape":${'['.repeat(100000)}`),
      /unsigned integer in shape/,
    ],
    [
      'half-byte elements that fill no byte',
      oneTensor('{"dtype":"F4","shape":[7],"data_offsets":[0,4]}'),
      /whole bytes/,
    ],
    [
      'an empty tensor inside another',
      rawFile(`{"a":${ONE},"b":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}}`, four),
      /overlaps "a"/,
    ],
    ['data that no tensor claims', rawFile('{}', four), /after the last tensor/],
    ['a trailing comma', rawFile(`{"k":${ONE},}`, four), /a name in quotes/],
    [
      'text after the object',
      rawFile(`{"k":${ONE}} x`, four),
      /found "x" where the end of the header/,
    ],
    ['NUL padding', rawFile(`{"k":${ONE}}\0\0`, four), /where the end of the header/],
    ['a bare line break in a name', rawFile(`{"a\nb":${ONE}}`, four), /control character/],
    ['an unknown escape', rawFile(`{"\\x":${ONE}}`, four), /malformed escape/],
    ['a short \\u escape', rawFile(`{"\\u12":${ONE}}`, four), /malformed escape/],
    ['an escape at the very end', rawFile('{"a\\'), /ends inside a string/],
    ['a lone surrogate', rawFile(`{"\\ud800":${ONE}}`, four), /lone surrogate/],
    ['bytes that are not UTF-8', rawFile(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a)), /not UTF-8/],
    ['a UTF-8 byte order mark', rawFile(`\ufeff{"k":${ONE}}`, four), /at the start of the header/],
  ])('refuses %s', async (_what, file, says) => {
    const error = await refusal(openSafetensors(file), 'SAFETENSORS_INVALID');
    expect(error.message).toMatch(says);
  });

  it('says where in the file the header is malformed', async () => {
    const error = await refusal(openSafetensors(rawFile('{"k": nonsense')), 'SAFETENSORS_INVALID');
    expect(error.message).toContain('at byte 14');
  });
});

it('accepts escapes, white space, and names that plain objects already have', async () => {
  const header = `\n{ "constructor" :\t${EMPTY} , "a\\"\\\\\\/\\u00e9\\ud83d\\ude00é" : ${ONE} }\r\n`;
  const file = await openSafetensors(rawFile(header, bytesOf(Float32Array.of(-2))));
  expect([...file.tensors.keys()]).toEqual(['constructor', 'a"\\/é😀é']);
  expect(await file.readF32('a"\\/é😀é')).toEqual(Float32Array.of(-2));
});

it('opens a file without tensors', async () => {
  const file = await openSafetensors(rawFile('{}'));
  expect(file.tensors.size + file.metadata.size).toBe(0);
});

describe('what is not a safetensors file', () => {
  it.each([
    ['PK\x03\x04\x14\0\0\0\x08\0', /zip archive/],
    ['GGUF\x03\0\0\0\0\0\0\0', /GGUF/],
    ['\x93NUMPY\x01\0v\0', /\.npy/],
    ['version https://git-lfs.github.com/spec/v1', /git lfs pull/],
    ['<!DOCTYPE html><html>', /web page/],
    ['{"weight_map": {}}', /JSON text/],
  ])('recognises %j', async (start, says) => {
    const error = await refusal(
      openSafetensors(new Uint8Array(Buffer.from(start, 'latin1'))),
      'SAFETENSORS_INVALID',
    );
    expect(error.message).toMatch(/not a safetensors file/);
    expect(error.next).toMatch(says);
  });
});

describe('paths', () => {
  it.each([
    ['a missing file', join(folder, 'missing.safetensors'), /cannot be opened: ENOENT/],
    ['a directory', folder, /is a directory/],
    ['a device', '/dev/zero', /not a regular file/],
  ])('refuses %s', async (_what, path, says) => {
    const error = await refusal(openSafetensors(path), 'SAFETENSORS_INVALID');
    expect(error.message).toMatch(says);
    expect(error.where?.file).toBe(path);
  });

  it('refuses what is neither a path nor bytes', async () => {
    await refusal(openSafetensors(7 as unknown as string), 'OPTION_INVALID');
  });

  it('notices a file that became shorter', async () => {
    const path = join(folder, 'shrinks.safetensors');
    writeFileSync(path, oneTensor(ONE));
    const file = await openSafetensors(path);
    truncateSync(path, 60);
    const error = await refusal(file.read('k'), 'SAFETENSORS_INVALID');
    expect(error.message).toMatch(/became shorter/);
    expect(error.where?.tensor).toBe('k');
    await file.close();
  });

  it('refuses an array that no memory can hold', async () => {
    const path = join(folder, 'small.safetensors');
    writeFileSync(path, oneTensor(ONE));
    const source = await fileSource(path);
    const error = await refusal(source.read(0, 2 ** 50, 'k'), 'SAFETENSORS_INVALID');
    expect(error.next).toMatch(/readRows/);
    await source.close();
  });

  it.each(['memory', 'file'])('refuses reading after close, from %s', async (place) => {
    const path = join(folder, 'closed.safetensors');
    writeFileSync(path, oneTensor(ONE));
    const file = await openSafetensors(place === 'file' ? path : oneTensor(ONE));
    await file.close();
    await file.close();
    expect((await refusal(file.read('k'), 'SAFETENSORS_INVALID')).message).toMatch(/after close/);
  });
});

describe('requests', () => {
  const file = openSafetensors(
    safetensorsBytes({
      rows: { dtype: 'I16', shape: [3, 2], data: Int16Array.of(1, 2, 3, 4, 5, 6) },
      scalar: { dtype: 'F32', shape: [], data: Float32Array.of(1) },
      flags: { dtype: 'BOOL', shape: [2], data: Uint8Array.of(0, 1) },
      wide: { dtype: 'F64', shape: [1], data: Float64Array.of(1 / 3) },
    }),
  );

  it('reads rows', async () => {
    const bytes = await (await file).readRows('rows', 1, 2);
    expect([...new Int16Array(bytes.buffer)]).toEqual([3, 4, 5, 6]);
    expect(await (await file).readRows('rows', 3, 0)).toHaveLength(0);
  });

  it.each([
    [2, 2],
    [4, 0],
    [-1, 1],
    [0.5, 1],
    [0, Number.NaN],
  ])('refuses rows from %d, %d of them', async (first, count) => {
    const error = await refusal((await file).readRows('rows', first, count), 'OPTION_INVALID');
    expect(error.valid).toMatch(/up to 3/);
  });

  it('refuses rows of a scalar, unknown names and types it does not convert', async () => {
    const opened = await file;
    await refusal(opened.readRows('scalar', 0, 1), 'SAFETENSORS_INVALID');
    const unknown = await refusal(opened.read('row'), 'SAFETENSORS_INVALID');
    expect(unknown.valid).toEqual(['rows', 'scalar', 'flags', 'wide']);
    const flags = await refusal(opened.readF32('flags'), 'SAFETENSORS_INVALID');
    expect(flags.valid).toContain('BF16');
    const wide = await refusal(opened.readF16('wide'), 'SAFETENSORS_INVALID');
    expect(wide.valid).not.toContain('F64');
    expect(await opened.readF32('wide')).toEqual(Float32Array.of(1 / 3));
  });
});
