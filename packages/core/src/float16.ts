/**
 * IEEE 754 binary16 conversion. Values travel through the packages as 16-bit patterns in Uint16Array.
 */

const word = new Uint32Array(1);
const float = new Float32Array(word.buffer);

/** Smallest positive normal f16: the smallest scale the law lets a group have (docs/law.md 2). */
export const F16_SMALLEST_NORMAL = 2 ** -14;
/** Largest finite f16. */
export const F16_MAX = 65504;

/** Nearest f16 bits of an f32, ties to even; beyond the range gives infinity, NaN stays NaN (quiet). */
export function f32ToF16(value: number): number {
  float[0] = value;
  return nearestF16(word[0] as number);
}

/** f16 bits of f32 bits. */
function nearestF16(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) {
    // At least 2^16: infinity or NaN. 65520 and above below 2^16 round up through the carry further down.
    return magnitude > 0x7f800000 ? sign | 0x7e00 : sign | 0x7c00;
  }
  if (magnitude >= 0x38800000) {
    // Normal: drop 13 mantissa bits, half to even; a carry moves into the exponent by itself.
    const rebased = magnitude - 0x38000000;
    return sign | ((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13);
  }
  if (magnitude < 0x33000000) return sign;
  const shift = 126 - (magnitude >>> 23);
  const mantissa = (magnitude & 0x7fffff) | 0x800000;
  const kept = mantissa >>> shift;
  const rest = mantissa & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return sign | (rest > half || (rest === half && (kept & 1) === 1) ? kept + 1 : kept);
}

const SMALLEST_EXPONENT = -14;
const LARGEST_EXPONENT = 15;
// `**` would take longer than all else here.
const POWERS = Float64Array.from(
  { length: LARGEST_EXPONENT - SMALLEST_EXPONENT + 1 },
  (_, i) => 2 ** (i + SMALLEST_EXPONENT),
);
/** By exponent: sums with it have the f16 quantum as their last place. */
const ROUNDERS = POWERS.map((power) => 1.5 * power * 2 ** (52 - 10));

/** Exact value of f16 bits. */
export function f16ToF32(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >>> 10) & 31;
  const mantissa = bits & 0x3ff;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  if (exponent === 31) return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + mantissa / 1024) * (POWERS[exponent - 1] as number);
}

let decodeTable: Float32Array | undefined;

/** The value of every f16 bit pattern, made on first use (256 KiB). */
export function f16DecodeTable(): Float32Array {
  if (decodeTable === undefined) {
    decodeTable = new Float32Array(65536);
    for (let bits = 0; bits < 65536; bits++) decodeTable[bits] = f16ToF32(bits);
  }
  return decodeTable;
}

/** Widens f16 bits into `destination` (a new array when omitted). */
export function decodeF16(
  source: Uint16Array,
  destination: Float32Array = new Float32Array(source.length),
): Float32Array {
  const table = f16DecodeTable();
  for (let i = 0; i < source.length; i++) destination[i] = table[source[i] as number] as number;
  return destination;
}

/** Rounds numbers to f16 bits into `destination` (a new array when omitted). */
export function encodeF16(
  source: Float32Array,
  destination: Uint16Array = new Uint16Array(source.length),
): Uint16Array {
  // Written to one number after the other, `word` would be waited for.
  const words = new Int32Array(source.buffer, source.byteOffset, source.length);
  for (let i = 0; i < words.length; i++) destination[i] = nearestF16(words[i] as number);
  return destination;
}

/** The nearest f16 value of any number, ties to even, rounded once. */
export function roundToF16(value: number): number {
  const magnitude = Math.abs(value);
  // Infinite from here on, or NaN.
  if (!(magnitude < 65520)) return f16ToF32(f32ToF16(value));
  float[0] = magnitude;
  const exponent = Math.max(((word[0] as number) >>> 23) - 127, SMALLEST_EXPONENT);
  const rounder = ROUNDERS[exponent - SMALLEST_EXPONENT] as number;
  const rounded = magnitude + rounder - rounder;
  return value < 0 || Object.is(value, -0) ? -rounded : rounded;
}

/** True for finite f16 bits; works on the integer bits, so no compiler can optimise it away. */
export function isFiniteF16(bits: number): boolean {
  return (bits & 0x7c00) !== 0x7c00;
}
