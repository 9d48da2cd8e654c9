/** Random files, damaged at random: refused with a code, or read exactly as JSON.parse and the spans say. */

import { LowbitKvError } from '@lowbit-kv/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openSafetensors } from '../src/index.js';
import { safetensorsBytes, type TestTensor } from './support/safetensors-bytes.js';

const BYTES: Record<string, number> = { U8: 1, BF16: 2, F32: 4, F64: 8 };

const tensor = fc
  .record({
    dtype: fc.constantFrom(...Object.keys(BYTES)),
    shape: fc.array(fc.nat({ max: 3 }), { maxLength: 3 }),
    seed: fc.nat({ max: 255 }),
  })
  .map(({ dtype, shape, seed }): TestTensor => {
    const length = shape.reduce((product, n) => product * n, BYTES[dtype] ?? 0);
    return { dtype, shape, data: Uint8Array.from({ length }, (_, i) => (i * 7 + seed) & 255) };
  });

const name = fc.oneof(
  fc.constantFrom('k', 'layers.0.key', '__proto_'),
  fc.string({ maxLength: 8 }),
);

const validFile = fc
  .tuple(
    fc.uniqueArray(fc.tuple(name, tensor), { maxLength: 5, selector: ([text]) => text }),
    fc.dictionary(name, fc.string(), { maxKeys: 2 }),
  )
  .filter(([tensors]) => tensors.every(([text]) => text !== '__metadata__'))
  .map(([tensors, metadata]) => safetensorsBytes(Object.fromEntries(tensors), metadata));

/** Bytes that mean something in a header are likelier than others. */
const newByte = fc.oneof(
  fc.constantFrom(...Buffer.from('{}[]":,0123456789-.eE\\u nk \n')),
  fc.nat({ max: 255 }),
);
const edit = fc.record({
  kind: fc.constantFrom('replace', 'insert', 'remove', 'truncate', 'repeat', 'fixLength'),
  // Squared below: the front of the file, length and header, is hit more often.
  place: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  byte: newByte,
});
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never;

function applyEdit(bytes: Uint8Array, { kind, place, byte }: Edit): Uint8Array {
  const at = Math.floor(place * place * bytes.length);
  const before = bytes.subarray(0, at);
  switch (kind) {
    case 'replace':
      return Buffer.concat([before, Buffer.of(byte), bytes.subarray(at + 1)]);
    case 'insert':
      return Buffer.concat([before, Buffer.of(byte), bytes.subarray(at)]);
    case 'remove':
      return Buffer.concat([before, bytes.subarray(at + 1 + (byte % 8))]);
    case 'repeat':
      return Buffer.concat([before, bytes.subarray(at, at + byte), bytes.subarray(at)]);
    case 'fixLength': {
      // The length that the last closing brace asks for, so that damage inside the JSON is reached.
      const end = Buffer.from(bytes).lastIndexOf('}}');
      if (end < 8) return bytes;
      const copy = new Uint8Array(bytes);
      new DataView(copy.buffer).setBigUint64(0, BigInt(end + 2 - 8), true);
      return copy;
    }
    default:
      return before;
  }
}

interface HeaderTensor {
  readonly dtype: string;
  readonly shape: number[];
  readonly data_offsets: [number, number];
}

/** What an accepted file must contain, found without the reader's code. */
async function expectFaithful(bytes: Uint8Array): Promise<void> {
  const file = await openSafetensors(bytes);
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const json = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(8, 8 + length));
  const { __metadata__: metadata = {}, ...header } = JSON.parse(json) as Record<string, object>;
  expect([...file.tensors.keys()].sort()).toEqual(Object.keys(header).sort());
  expect(Object.fromEntries(file.metadata)).toEqual({ ...metadata });
  let covered = 0;
  for (const [key, info] of Object.entries(header) as [string, HeaderTensor][]) {
    const [begin, end] = info.data_offsets;
    const product = info.shape.reduce((a, b) => a * b, 1);
    expect(file.tensors.get(key)).toMatchObject({ dtype: info.dtype, shape: info.shape });
    if (info.dtype in BYTES) expect(end - begin).toBe(product * (BYTES[info.dtype] ?? 0));
    const data = bytes.subarray(8 + length + begin, 8 + length + end);
    expect(Buffer.compare(await file.read(key), data)).toBe(0);
    covered += end - begin;
  }
  expect(covered).toBe(bytes.length - 8 - length);
}

it('reads every valid file', async () => {
  await fc.assert(fc.asyncProperty(validFile, expectFaithful), { numRuns: 300 });
});

it('refuses every truncation', async () => {
  const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
  await fc.assert(
    fc.asyncProperty(validFile, place, async (bytes, fraction) => {
      const cut = bytes.subarray(0, Math.floor(fraction * bytes.length));
      const error = await openSafetensors(cut).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(LowbitKvError.is(error, 'SAFETENSORS_INVALID')).toBe(true);
    }),
    { numRuns: 300 },
  );
});

it('refuses damage with a code, or reads what is really there; never allocates much', async () => {
  let accepted = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(
      validFile,
      fc.array(edit, { minLength: 1, maxLength: 4 }),
      async (file, edits) => {
        const damaged = edits.reduce(applyEdit, file);
        const before = process.memoryUsage().arrayBuffers;
        try {
          await expectFaithful(damaged);
          accepted++;
        } catch (error) {
          if (!LowbitKvError.is(error, 'SAFETENSORS_INVALID')) throw error;
          refused++;
        }
        expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1e6);
      },
    ),
    { numRuns: 2000 },
  );
  // Both ways out were really taken.
  expect(accepted).toBeGreaterThan(20);
  expect(refused).toBeGreaterThan(200);
});
