// Packing: every width, every length, any first code, any offset.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { packCodes, unpackCodes } from '../../src/law/bits.js';

const width = fc.constantFrom(1, 2, 3, 4, 8);
const row = width.chain((bits) =>
  fc.record({
    bits: fc.constant(bits),
    codes: fc
      .array(fc.integer({ min: 0, max: 2 ** bits - 1 }), { minLength: 1, maxLength: 100 })
      .map((list) => Uint8Array.from(list)),
  }),
);

/** The row as one integer: code j at bit `bits * j`. */
const asInteger = (codes: Uint8Array, bits: number) =>
  codes.reduceRight((sum, code) => (sum << BigInt(bits)) | BigInt(code), 0n);

it('puts code j at bit `bits * j`, little endian, and leaves the bytes around it alone', () => {
  fc.assert(
    fc.property(row, fc.nat(5), fc.nat(5), ({ bits, codes }, first, offset) => {
      const padded = new Uint8Array(first + codes.length + 3).fill(255);
      padded.set(codes, first);
      const size = Math.ceil((codes.length * bits) / 8);
      const bytes = new Uint8Array(offset + size + 2).fill(0xa5);
      packCodes(padded, first, codes.length, bits, bytes, offset);
      const value = bytes
        .subarray(offset, offset + size)
        .reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
      expect(value).toBe(asInteger(codes, bits));
      expect([...bytes.subarray(0, offset), ...bytes.subarray(offset + size)]).toEqual(
        Array(offset + 2).fill(0xa5),
      );
    }),
    { numRuns: 2000 },
  );
});

it('unpacks any run of a row', () => {
  fc.assert(
    fc.property(row, fc.nat(5), fc.nat(99), fc.nat(99), ({ bits, codes }, offset, a, b) => {
      const bytes = new Uint8Array(offset + Math.ceil((codes.length * bits) / 8));
      packCodes(codes, 0, codes.length, bits, bytes, offset);
      const skip = a % codes.length;
      const count = 1 + (b % (codes.length - skip));
      const result = new Uint8Array(count + 2).fill(77);
      unpackCodes(bytes, offset, skip, count, bits, result, 1);
      expect([...result]).toEqual([77, ...codes.subarray(skip, skip + count), 77]);
    }),
    { numRuns: 2000 },
  );
});

it('is the words of the specification', () => {
  const words = (codes: number[], bits: number) => {
    const bytes = new Uint8Array((codes.length * bits) / 8);
    packCodes(Uint8Array.from(codes), 0, codes.length, bits, bytes, 0);
    return [...new Uint32Array(bytes.buffer)];
  };
  expect(
    words(
      [...Array(16).keys()].map((i) => i % 4),
      2,
    ),
  ).toEqual([0xe4e4e4e4]);
  expect(words([0, 1, 2, 3, 4, 5, 6, 7], 4)).toEqual([0x76543210]);
  // The codes that straddle words: j = 10 and j = 21.
  const straddling = Array(32).fill(0);
  straddling[10] = 7;
  straddling[21] = 5;
  expect(words(straddling, 3)).toEqual([0xc0000000, 0x80000001, 0x00000002]);
});

it('unpacks from beyond 2^32 bits into a page', () => {
  const offset = 2 ** 29 + 8;
  const bytes = new Uint8Array(offset + 2);
  bytes.set([0xab, 0xcd], offset);
  const codes = new Uint8Array(3);
  unpackCodes(bytes, offset, 1, 3, 4, codes, 0);
  expect([...codes]).toEqual([0xa, 0xd, 0xc]);
});
