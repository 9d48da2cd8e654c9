/** Conversion of every element type, against values worked out by hand or by DataView. */

import { f16ToF32, f32ToF16 } from '@lowbit-kv/core';
import { expect, it } from 'vitest';
import { openSafetensors } from '../src/index.js';
import { decodeE4m3, decodeE5m2 } from '../src/safetensors-widen.js';
import { safetensorsBytes } from './support/safetensors-bytes.js';

async function open(dtype: string, data: ArrayBufferView & { readonly length: number }) {
  return openSafetensors(safetensorsBytes({ t: { dtype, shape: [data.length], data } }));
}

it('widens integers and F64', async () => {
  const cases: [string, ArrayBufferView & { readonly length: number }, number[]][] = [
    ['U8', Uint8Array.of(0, 255), [0, 255]],
    ['I8', Int8Array.of(-128, 127), [-128, 127]],
    ['U16', Uint16Array.of(0, 65535), [0, 65535]],
    ['I16', Int16Array.of(-32768, 5), [-32768, 5]],
    ['U32', Uint32Array.of(2 ** 31, 3), [2 ** 31, 3]],
    ['I32', Int32Array.of(-(2 ** 31), 3), [-(2 ** 31), 3]],
    ['U64', BigUint64Array.of(2n ** 63n), [2 ** 63]],
    ['I64', BigInt64Array.of(-(2n ** 63n), 1n), [-(2 ** 63), 1]],
    ['F64', Float64Array.of(0.1, -1e300), [Math.fround(0.1), Number.NEGATIVE_INFINITY]],
  ];
  for (const [dtype, data, expected] of cases) {
    expect([...(await (await open(dtype, data)).readF32('t'))], dtype).toEqual(expected);
  }
});

it('widens all of F16 and BF16, special values included', async () => {
  const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
  const f16 = await (await open('F16', all)).readF32('t');
  const bf16 = await (await open('BF16', all)).readF32('t');
  const view = new DataView(new ArrayBuffer(4));
  for (let bits = 0; bits < 65536; bits++) {
    view.setUint16(0, bits);
    if (!Object.is(bf16[bits], view.getFloat32(0))) expect(bf16[bits]).toBe(view.getFloat32(0));
    if (!Object.is(f16[bits], f16ToF32(bits))) expect(f16[bits]).toBe(f16ToF32(bits));
  }
  expect([f16[0x3c00], f16[0xfc00], bf16[0x3f80], bf16[0x7f80]]).toEqual([
    1,
    -Infinity,
    1,
    Infinity,
  ]);
});

it('decodes all of F8_E4M3 and F8_E5M2', () => {
  // Fields read as digits: sign, exponent, mantissa.
  const decode = (bits: number, exponentBits: number, bias: number) => {
    const mantissaBits = 7 - exponentBits;
    const digits = bits.toString(2).padStart(8, '0');
    const exponent = Number.parseInt(digits.slice(1, 1 + exponentBits), 2);
    const mantissa = Number.parseInt(digits.slice(1 + exponentBits), 2) / 2 ** mantissaBits;
    const size =
      exponent === 0 ? mantissa * 2 ** (1 - bias) : (1 + mantissa) * 2 ** (exponent - bias);
    return digits[0] === '1' ? -size : size;
  };
  for (let bits = 0; bits < 256; bits++) {
    const magnitude = bits & 127;
    expect(decodeE4m3(bits)).toBe(magnitude === 127 ? Number.NaN : decode(bits, 4, 7));
    const sign = bits < 128 ? 1 : -1;
    const special = magnitude === 124 ? sign * Infinity : Number.NaN;
    expect(decodeE5m2(bits)).toBe(magnitude >= 124 ? special : decode(bits, 5, 15));
  }
});

it('keeps F16 bits and rounds the others to f16 once', async () => {
  const bits = Uint16Array.of(0x7e01, 0x8000, 0x3c01);
  expect([...(await (await open('F16', bits)).readF16('t'))]).toEqual([...bits]);
  // 2049 lies between 2048 and 2050: ties go to the even mantissa.
  const values = Float32Array.of(2049, 2051, 70000, -0);
  expect([...(await (await open('F32', values)).readF16('t'))]).toEqual(
    [2048, 2052, Infinity, -0].map(f32ToF16),
  );
  expect([...(await (await open('BF16', Uint16Array.of(0x3f81))).readF16('t'))]).toEqual([0x3c08]);
  expect([...(await (await open('F8_E5M2', Uint8Array.of(0x3d))).readF16('t'))]).toEqual([0x3d00]);
});
