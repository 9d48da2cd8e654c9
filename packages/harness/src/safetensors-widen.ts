/**
 * Tensor bytes to f32 values or f16 bits. Input is a byte array that starts its own ArrayBuffer
 * (so typed views are aligned), little-endian like every host Node's releases run on but s390x.
 */
import { decodeF16, encodeF16, f16ToF32 } from '@lowbit-kv/core';
import type { SafetensorsDtype } from './safetensors-dtypes.js';

type Widen = (bytes: Uint8Array<ArrayBuffer>) => Float32Array;

function elementwise(
  view: (buffer: ArrayBuffer) => ArrayLike<number>,
  value: (raw: number) => number = (raw) => raw,
): Widen {
  return (bytes) => {
    const source = view(bytes.buffer);
    const result = new Float32Array(source.length);
    for (let i = 0; i < source.length; i++) result[i] = value(source[i] as number);
    return result;
  };
}

/** 64-bit integers pass through f64: above 2^53 they are rounded twice. */
function wideIntegers(view: (buffer: ArrayBuffer) => ArrayLike<bigint>): Widen {
  return (bytes) => {
    const source = view(bytes.buffer);
    const result = new Float32Array(source.length);
    for (let i = 0; i < source.length; i++) result[i] = Number(source[i]);
    return result;
  };
}

/** bf16 is the upper half of an f32. */
function widenBf16(bytes: Uint8Array<ArrayBuffer>): Float32Array {
  const source = new Uint16Array(bytes.buffer);
  const words = new Uint32Array(source.length);
  for (let i = 0; i < source.length; i++) words[i] = (source[i] as number) << 16;
  return new Float32Array(words.buffer);
}

/** OCP FP8 E4M3 (bias 7, no infinities, S.1111.111 is NaN). */
export function decodeE4m3(bits: number): number {
  const sign = (bits & 0x80) === 0 ? 1 : -1;
  const exponent = (bits >>> 3) & 15;
  const mantissa = bits & 7;
  if (exponent === 15 && mantissa === 7) return Number.NaN;
  return exponent === 0 ? (sign * mantissa) / 512 : sign * (8 + mantissa) * 2 ** (exponent - 10);
}

/** OCP FP8 E5M2 (bias 15, infinities and NaN as in IEEE): the upper half of an f16. */
export function decodeE5m2(bits: number): number {
  return f16ToF32((bits << 8) & 0xffff);
}

const TO_F32 = {
  F16: (bytes) => decodeF16(new Uint16Array(bytes.buffer)),
  BF16: widenBf16,
  F32: (bytes) => new Float32Array(bytes.buffer),
  F64: elementwise((buffer) => new Float64Array(buffer)),
  F8_E4M3: elementwise((buffer) => new Uint8Array(buffer), decodeE4m3),
  F8_E5M2: elementwise((buffer) => new Uint8Array(buffer), decodeE5m2),
  U8: elementwise((buffer) => new Uint8Array(buffer)),
  I8: elementwise((buffer) => new Int8Array(buffer)),
  U16: elementwise((buffer) => new Uint16Array(buffer)),
  I16: elementwise((buffer) => new Int16Array(buffer)),
  U32: elementwise((buffer) => new Uint32Array(buffer)),
  I32: elementwise((buffer) => new Int32Array(buffer)),
  U64: wideIntegers((buffer) => new BigUint64Array(buffer)),
  I64: wideIntegers((buffer) => new BigInt64Array(buffer)),
} satisfies Partial<Record<SafetensorsDtype, Widen>>;

/** Types that `readF32` converts. */
export type F32ReadableDtype = keyof typeof TO_F32;
export const F32_READABLE = Object.freeze(Object.keys(TO_F32)) as readonly F32ReadableDtype[];

/** Types that `readF16` converts: those that f32 holds exactly, so that there is one rounding. */
export type F16ReadableDtype = Exclude<F32ReadableDtype, 'F64' | 'U32' | 'I32' | 'U64' | 'I64'>;
export const F16_READABLE: readonly F16ReadableDtype[] = Object.freeze([
  'F16',
  'BF16',
  'F32',
  'F8_E4M3',
  'F8_E5M2',
  'U8',
  'I8',
  'U16',
  'I16',
] as const);

/** The values as f32. */
export function widenToF32(dtype: F32ReadableDtype, bytes: Uint8Array<ArrayBuffer>): Float32Array {
  return TO_F32[dtype](bytes);
}

/** The values as f16 bits, nearest, ties to even. */
export function convertToF16(dtype: F16ReadableDtype, bytes: Uint8Array<ArrayBuffer>): Uint16Array {
  return dtype === 'F16' ? new Uint16Array(bytes.buffer) : encodeF16(widenToF32(dtype, bytes));
}
