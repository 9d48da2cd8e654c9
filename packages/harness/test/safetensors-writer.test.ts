/** The writer: what it writes is read back, and a failed write leaves nothing behind. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  openSafetensors,
  SAFETENSORS_DTYPES,
  type SafetensorsDtype,
  type TensorToWrite,
  writeSafetensors,
} from '../src/index.js';
import { bitsPerElement } from '../src/safetensors-dtypes.js';
import { refusal } from './support/failures.js';
import { temporaryFolder } from './support/temporary-folder.js';

const folder = temporaryFolder();
const path = join(folder, 'written.safetensors');

const name = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'layers.0.key', ''),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
);
const tensor = fc
  .record({
    dtype: fc.constantFrom(...SAFETENSORS_DTYPES),
    shape: fc.array(fc.nat({ max: 4 }), { maxLength: 4 }),
    seed: fc.nat({ max: 255 }),
    parts: fc.nat({ max: 3 }),
  })
  // A last axis of 8 fills whole bytes for every type.
  .map(({ dtype, shape, seed, parts }) => {
    const fullShape = [...shape, 8];
    const length = (fullShape.reduce((a, b) => a * b, 1) * bitsPerElement(dtype)) / 8;
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + seed) & 255);
    return { dtype, shape: fullShape, bytes, parts };
  });

async function* inParts(bytes: Uint8Array, parts: number) {
  const step = Math.ceil(bytes.length / parts) || 1;
  for (let i = 0; i < bytes.length; i += step) yield bytes.subarray(i, i + step);
}

it('round-trips tensors, metadata and names; every tensor is aligned to its element', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(name, tensor), { maxLength: 6, selector: ([text]) => text }),
      fc.array(fc.tuple(name, fc.string({ unit: 'grapheme' })), { maxLength: 3 }),
      async (tensors, metadata) => {
        const expectedMetadata = new Map(metadata);
        const list = tensors.map(
          ([text, { dtype, shape, bytes, parts }]): TensorToWrite => ({
            name: text,
            dtype,
            shape,
            data: parts === 0 ? bytes : inParts(bytes, parts),
          }),
        );
        await writeSafetensors(path, list, expectedMetadata);
        const file = await openSafetensors(path);
        expect(new Map(file.metadata)).toEqual(expectedMetadata);
        expect(file.tensors.size).toBe(tensors.length);
        for (const [text, { dtype, shape, bytes }] of tensors) {
          const info = file.tensors.get(text);
          expect(info).toMatchObject({ dtype, shape });
          if (bitsPerElement(dtype) >= 8) {
            expect((info?.byteOffset ?? 1) % (bitsPerElement(dtype) / 8)).toBe(0);
          }
          expect(Buffer.compare(await file.read(text), bytes)).toBe(0);
        }
        await file.close();
      },
    ),
    { numRuns: 150 },
  );
  expect(readdirSync(folder)).toEqual(['written.safetensors']);
});

it('writes the bytes that the format prescribes', async () => {
  const data = Float32Array.of(1, -2);
  await writeSafetensors(path, [{ name: 'k', dtype: 'F32', shape: [2], data }], { a: 'b' });
  const bytes = readFileSync(path);
  const json = '{"__metadata__":{"a":"b"},"k":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}';
  expect(bytes.readBigUInt64LE(0)).toBe(80n);
  expect(bytes.toString('latin1', 8, 88)).toBe(json.padEnd(80));
  expect(bytes.readFloatLE(88)).toBe(1);
  expect(bytes.readFloatLE(92)).toBe(-2);
  expect(bytes.length).toBe(96);
});

describe('refusals', () => {
  const fine: TensorToWrite = { name: 'k', dtype: 'F32', shape: [1], data: Float32Array.of(1) };
  it.each<[what: string, tensors: TensorToWrite[], says: RegExp]>([
    ['a reserved name', [{ ...fine, name: '__metadata__' }], /reserved/],
    ['a name twice', [fine, fine], /duplicate name "k"/],
    ['a name with half a surrogate pair', [{ ...fine, name: '\ud800' }], /lone surrogate/],
    ['an unknown dtype', [{ ...fine, dtype: 'F12' as SafetensorsDtype }], /unknown dtype/],
    ['a negative dimension', [{ ...fine, shape: [-1] }], /unsigned integers/],
    ['65 dimensions', [{ ...fine, shape: Array(65).fill(1) }], /more than 64/],
    ['too many elements', [{ ...fine, shape: [2 ** 40, 2 ** 40] }], /below 2\^53/],
    ['too few data', [{ ...fine, shape: [2] }], /do not fill/],
    ['too many data', [{ ...fine, shape: [], data: new Float32Array(2) }], /do not fill/],
    [
      'too many data in parts',
      [{ ...fine, data: [new Uint8Array(3), new Uint8Array(3)] }],
      /do not fill/,
    ],
  ])('refuses %s, and keeps the file that was there', async (_what, tensors, says) => {
    writeFileSync(path, 'before');
    const error = await refusal(writeSafetensors(path, tensors), 'SAFETENSORS_INVALID');
    expect(error.message).toMatch(says);
    expect(readFileSync(path, 'utf8')).toBe('before');
    expect(readdirSync(folder)).toEqual(['written.safetensors']);
  });

  it('refuses metadata that is not text', async () => {
    const metadata = { layers: 2 } as unknown as Record<string, string>;
    const error = await refusal(writeSafetensors(path, [fine], metadata), 'SAFETENSORS_INVALID');
    expect(error.message).toMatch(/"layers" is not/);
  });

  it('passes on what a source of data throws, and removes the unfinished file', async () => {
    const source = (async function* () {
      yield new Uint8Array(2);
      throw new Error('the device is gone');
    })();
    await expect(writeSafetensors(path, [{ ...fine, data: source }])).rejects.toThrow('is gone');
    expect(readdirSync(folder)).toEqual(['written.safetensors']);
  });
});
