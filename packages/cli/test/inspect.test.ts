// `lowbit-kv inspect`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCache, createPlan, f16Tensor, fingerprint, referenceBackend } from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { oaken } from '@lowbit-kv/scheme-oaken';
import { beforeAll, describe, expect, test } from 'vitest';
import { placeholderCalibration } from '../src/schemes/placeholder-calibration.js';
import { type HereOptions, runHere } from './support/run-here.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { writeTinyCapture } from './support/tiny-capture.js';

const GEOMETRY = { layers: 2, queryHeads: 2, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 64 };
const TOKENS = 300;
const directory = temporaryDirectory();
const path = (name: string) => join(directory, name);
const WITH_PLAN = ['snapshot.bin', '--geometry', 'geometry.json'];
const PAGES = ['pages.bin', '--geometry', 'geometry.json', '--scheme', 'kivi-2bit-g32'];
let pages: Uint8Array[];
/** f32 `[tokens, heads, channels]` of layer 1. */
let decoded: Float32Array;

const inspected = (args: readonly string[], options: HereOptions = {}) =>
  runHere(['inspect', ...args], { directory, ...options });

async function reported(...args: string[]) {
  const { code, stdout, stderr } = await inspected([...args, '--json']);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

beforeAll(async () => {
  const plan = createPlan(kivi({ bits: 2, groupSize: 32 }), GEOMETRY);
  const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: 512 } });
  const sequence = cache.createSequence();
  const tensor = (seed: number) => {
    const shape = [TOKENS, GEOMETRY.kvHeads, GEOMETRY.keyHeadDim];
    return f16Tensor(lcgNormal({ seed, shape, dtype: 'f16' }) as Uint16Array, shape);
  };
  const layers = [0, 1].map((layer) => ({ key: tensor(2 * layer), value: tensor(2 * layer + 1) }));
  await cache.append([{ sequence, tokens: TOKENS }], layers);
  writeFileSync(path('snapshot.bin'), await cache.snapshot([sequence]));
  pages = (await cache.exportBlocks(sequence, 1, 'key')).map(({ bytes }) => bytes);
  decoded = (await cache.materialize(sequence, 1)).key.data as Float32Array;
  writeFileSync(path('pages.bin'), Buffer.concat(pages));
  writeFileSync(path('geometry.json'), JSON.stringify(GEOMETRY));
  await cache.dispose();
});

describe('a snapshot', () => {
  test('says what it is without a plan', async () => {
    const { code, stdout, stderr } = await inspected(['snapshot.bin']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^snapshot of kivi-2bit-g32, \d+ bytes\nplan [0-9a-f]{64}\n/);
    expect(stdout).toMatch(/^sequence 0: 300 tokens/m);
    expect(stdout).toMatch(/SHA-256, matches$/m);
    expect(stderr).toContain('--geometry');
  });

  test('a block: offsets in the file, bytes, and the first group as the cache decodes it', async () => {
    const at = ['--layer', '1', '--tensor', 'key', '--block', '1', '--limit', '32'];
    const { page, sections } = await reported(...WITH_PLAN, ...at);
    const file = readFileSync(path('snapshot.bin'));
    const block = pages[1] as Uint8Array;
    expect(page).toMatchObject({ layer: 1, tensor: 'key', block: 1, validTokens: 128 });
    expect(file.subarray(page.offset, page.offset + block.length).equals(block)).toBe(true);
    expect(page.fields.map(({ name, head }: never) => `${head} ${name}`)).toEqual([
      '0 codes',
      '0 scale',
      '0 zero',
      '1 codes',
      '1 scale',
      '1 zero',
    ]);
    for (const { offset, hex } of page.fields)
      expect(hex.replaceAll(' ', '')).toBe(file.subarray(offset, offset + 32).toString('hex'));
    const { codes, parameters, values } = page.firstGroup;
    const [scale, zero] = parameters.map(({ value }: { value: number }) => value);
    const byHand = codes.map((code: number) => Math.fround(Math.fround(scale * code) + zero));
    expect(values).toEqual(byHand);
    const stride = GEOMETRY.kvHeads * GEOMETRY.keyHeadDim;
    expect(values).toEqual(Array.from({ length: 32 }, (_, i) => decoded[(128 + i) * stride]));
    expect(new Set(codes).size).toBeGreaterThan(2);
    const last = sections.at(-1);
    expect(last.offset + last.pages * last.pageBytes).toBe(file.length - 32);
  });

  test('text: fields in colours on a terminal, unless NO_COLOR', async () => {
    const plain = await inspected(WITH_PLAN);
    expect(plain.stdout).toMatch(/^0x[0-9a-f]{8} {2}head 1: scale {2}256 x f16$/m);
    expect(plain.stdout).toMatch(/^0x[0-9a-f]{8} {4}([0-9a-f]{2} ){15}[0-9a-f]{2}$/m);
    expect(plain.stdout).not.toContain('\u001b');
    const colored = await inspected(WITH_PLAN, { isTTY: true });
    for (const paint of ['\u001b[36m', '\u001b[33m', '\u001b[32m'])
      expect(colored.stdout).toContain(paint);
    const off = await inspected(WITH_PLAN, { isTTY: true, environment: { NO_COLOR: '1' } });
    expect(off.stdout).toBe(plain.stdout);
  });

  test.each<[string, (bytes: Buffer) => Buffer, RegExp]>([
    ['a version of the future', (b) => patched(b, 4, 9), /unknown snapshot version \(.*offset 4/],
    ['a header past the end', (b) => patched(b, 10, 255), /longer than the file \(.*offset 8/],
    ['a header that is no JSON', (b) => patched(b, 12, 0), /header is not JSON \(.*offset 12/],
    [
      'a flipped bit',
      (b) => patched(b, b.length - 99, 77),
      /checksum does not match.*offset \d{4}/,
    ],
    ['a cut end', (b) => b.subarray(0, b.length - 1), /checksum does not match/],
    ['hardly a file', (b) => b.subarray(0, 20), /too short/],
  ])('%s', async (_, damage, message) => {
    writeFileSync(path('damaged.bin'), damage(readFileSync(path('snapshot.bin'))));
    const { code, stdout, stderr } = await inspected(['damaged.bin']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('error SNAPSHOT_INVALID');
    expect(stderr).toMatch(message);
  });

  test('of another plan, or without such a layer or block', async () => {
    const other = await inspected([...WITH_PLAN, '--block-tokens', '256']);
    expect(other).toMatchObject({ code: 1, stdout: '' });
    expect(other.stderr).toContain('SNAPSHOT_MISMATCH');
    const layer = await inspected([...WITH_PLAN, '--layer', '7']);
    expect(layer.stderr).toMatch(/no such layer.*got 7; valid: 0, 1/);
    const block = await inspected([...WITH_PLAN, '--block', '2']);
    expect(block.stderr).toMatch(/no such block.*got 2; valid: 0 to 1/);
  });
});

describe('pages of exportBlocks', () => {
  test('are explained when tensor, scheme and geometry are given', async () => {
    const {
      kind,
      pages: count,
      page,
    } = await reported(...PAGES, '--tensor', 'key', '--block', '1');
    expect({ kind, count }).toEqual({ kind: 'pages', count: 2 });
    expect(page).toMatchObject({ offset: pages[0]?.length, validTokens: 128 });
  });

  test('a page that the law cannot have written is refused, with its place', async () => {
    const damaged = Buffer.concat(pages);
    const { page } = await reported(...PAGES, '--tensor', 'key', '--block', '1');
    const scale = page.fields[1].offset;
    damaged.writeUInt16LE(0x7c00, scale);
    writeFileSync(path('pages.bin'), damaged);
    const { code, stderr } = await inspected([...PAGES, '--tensor', 'key', '--block', '1']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/BLOCK_INVALID.*head 0.*block 1, pageOffset \d+/);
    writeFileSync(path('pages.bin'), Buffer.concat(pages).subarray(1));
    const cut = await inspected([...PAGES, '--tensor', 'key']);
    expect(cut.stderr).toMatch(/OPTION_INVALID.*whole pages of \d+ bytes/);
  });
});

test('a capture: tensors, metadata, values', async () => {
  await writeTinyCapture(path('tiny.safetensors'));
  const { kind, metadata, tensors } = await reported('tiny.safetensors', '--layer', '5');
  expect(kind).toBe('capture');
  expect(metadata).toMatchObject({ model: 'made up', scale: '0.1' });
  expect(tensors.map(({ name }: { name: string }) => name)).toEqual(
    ['key', 'value', 'query'].map((part) => `layers.5.${part}`),
  );
  // Normal values, one of 32 channels of the keys six times as large.
  expect(tensors[0].values.rootMeanSquare).toBeCloseTo(Math.sqrt((31 + 36) / 32), 0);
  expect(tensors[1].values).toMatchObject({ notFinite: 0, rootMeanSquare: expect.closeTo(1, 1) });
  const { stdout } = await inspected(['tiny.safetensors']);
  expect(stdout).toMatch(/^layers\.0\.key +F16 +1 x 2 x 200 x 32 +0x0000/m);
});

test('JSON: a calibration, a scheme, a report', async () => {
  const scheme = oaken();
  const calibration = placeholderCalibration(scheme, GEOMETRY);
  writeFileSync(path('calibration.json'), JSON.stringify(calibration));
  const { facts } = await reported('calibration.json');
  expect(facts).toMatchObject({
    kind: 'calibration',
    calibrations: [{ schemeFingerprint: calibration?.scheme, layers: 2 }],
  });
  const { id, ...rest } = kivi({ bits: 2, groupSize: 32 });
  writeFileSync(path('scheme.json'), JSON.stringify({ id: 'mine', ...rest }));
  const described = (await reported('scheme.json')).facts;
  expect(described).toMatchObject({ kind: 'scheme', scheme: 'mine' });
  expect(described.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  expect(described.fingerprint).not.toBe(fingerprint({}));
  const report = await runHere(['estimate', '--json', '--scheme', id]);
  writeFileSync(path('report.json'), report.stdout);
  const { stdout } = await inspected(['report.json']);
  expect(stdout).toMatch(/^kind: report\nreportVersion: 1\n/);
  expect(stdout).toContain(`{"id":"${id}"`);
});

test.each<[string, string | Uint8Array, RegExp]>([
  ['cut.json', '{"schemeFile": 1, ', /damaged.*offset 18.*JSON/s],
  ['foreign.json', '{"a": 1}', /got \["a"\].*a scheme, a calibration/s],
  ['noise.bin', new Uint8Array(100).fill(0xee), /got "eeee.*begins as one of ours/s],
  ['empty', '', /got "".*begins as one of ours/s],
])('%s is refused', async (name, content, message) => {
  writeFileSync(path(name), content);
  const { code, stdout, stderr } = await inspected([name]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('error OPTION_INVALID');
  expect(stderr).toMatch(message);
});

test('what a file says moves no cursor, in tables and in errors', async () => {
  const name = 't\u001b[2J\u009b1A';
  const header = JSON.stringify({
    __metadata__: { 'key\u001b]0;title\u0007': '\u202evalue' },
    [name]: { dtype: 'F32', shape: [1], data_offsets: [0, 4] },
  });
  const bytes = Buffer.from(header);
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(bytes.length));
  writeFileSync(path('escapes.safetensors'), Buffer.concat([size, bytes, Buffer.alloc(4)]));
  const shown = await inspected(['escapes.safetensors'], {
    isTTY: true,
    environment: { NO_COLOR: '1' },
  });
  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain('t\\u001b[2J\\u009b1A');
  expect(shown.stdout).toContain('\\u202evalue');
  expect(shown.stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202e/u);
  const whole = JSON.parse((await inspected(['escapes.safetensors', '--json'])).stdout);
  expect(JSON.stringify(whole)).toContain(JSON.stringify(name).slice(1, -1));

  writeFileSync(path('escapes.json'), '\u001b[2J\u001b]0;title\u0007');
  for (const args of [
    ['diff', 'escapes.json', 'escapes.json'],
    ['merge', 'escapes.json'],
    ['inspect', 'escapes.json'],
    ['compare', '--scheme', './escapes.json'],
    ['estimate', '--config', 'escapes.json'],
  ]) {
    const { code, stderr } = await runHere(args, { directory });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error [A-Z_]+: /m);
    expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  }
});

test('a missing file, a folder, a cut capture', async () => {
  mkdirSync(path('folder'));
  for (const name of ['missing', 'folder'])
    expect((await inspected([name])).stderr).toMatch(/OPTION_INVALID: the file cannot be read/);
  await writeTinyCapture(path('cut.safetensors'));
  writeFileSync(path('cut.safetensors'), readFileSync(path('cut.safetensors')).subarray(0, 5000));
  expect((await inspected(['cut.safetensors'])).stderr).toContain('SAFETENSORS_INVALID');
});

test('wrong command lines and help', async () => {
  expect(await inspected([])).toMatchObject({ code: 2, stdout: '' });
  expect(await inspected(['a', 'b'])).toMatchObject({ code: 2, stdout: '' });
  expect((await inspected(['a', '--tensor', 'query'])).stderr).toMatch(/choices are key, value/);
  expect((await inspected(['--help'])).stdout).toMatch(/^Examples:\n {2}\$ lowbit-kv inspect /);
});

function patched(bytes: Buffer, offset: number, value: number): Buffer {
  bytes[offset] = value;
  return bytes;
}
