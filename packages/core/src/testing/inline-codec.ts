/**
 * A codec for tests: one exponent per group, four bits per value; in TypeScript, WGSL and CUDA C++.
 */
import type { GroupCodec } from '../codec.js';
import type { QuantizedTensorScheme } from '../scheme.js';

const LOWEST_EXPONENT = -100;
const HIGHEST_EXPONENT = 126;

/** A tensor whose groups are encoded by `sharedExponentCodec` of the same size. */
export function withSharedExponent(
  groups: QuantizedTensorScheme['groups'],
  size: number,
  window = { recent: 0, flush: groups.along === 'tokens' ? size : 1 },
): QuantizedTensorScheme {
  const { id, version, groupBytes } = sharedExponentCodec(size);
  return {
    bits: 4,
    groups,
    quantizer: { mode: 'codec', codes: id, version, groupBytes },
    parameters: {},
    window,
  };
}

/**
 * Byte 0 is the exponent e of the largest magnitude plus 128; then a code of four bits per value, two's complement, that
 * stands for `code * 2^(e - 2)`. NaN is stored as 0.
 */
export function sharedExponentCodec(groupSize: number): GroupCodec {
  return {
    id: `shared-exponent-${groupSize}`,
    version: 1,
    groupSize,
    groupBytes: 1 + Math.ceil(groupSize / 2),
    encodeGroup(values, bytes) {
      bytes.fill(0);
      const largest = values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
      const exponent = Math.min(
        Math.max(Math.floor(Math.log2(largest)), LOWEST_EXPONENT),
        HIGHEST_EXPONENT,
      );
      bytes[0] = exponent + 128;
      const step = 2 ** (exponent - 2);
      for (const [i, value] of values.entries()) {
        const code = Math.min(Math.max(Math.round((value || 0) / step), -8), 7);
        const at = 1 + (i >> 1);
        bytes[at] = (bytes[at] as number) | ((code & 15) << (4 * (i & 1)));
      }
    },
    decodeGroup(bytes, values) {
      const step = 2 ** ((bytes[0] as number) - 130);
      for (let i = 0; i < values.length; i++) {
        const code = ((bytes[1 + (i >> 1)] as number) >> (4 * (i & 1))) & 15;
        values[i] = (code < 8 ? code : code - 16) * step;
      }
    },
    wgsl: WGSL,
    cuda: CUDA,
  };
}

/** Products with powers of two are exact, and so is what is left of a number behind its floor. */
const WGSL = `
const LOWEST_EXPONENT: i32 = ${LOWEST_EXPONENT};
const HIGHEST_EXPONENT: i32 = ${HIGHEST_EXPONENT};

fn codeOf(value: f32, factor: f32) -> u32 {
  if ((bitcast<u32>(value) & 0x7fffffffu) > 0x7f800000u) { return 0u; }
  let scaled = clamp(value * factor, -9.0, 9.0);
  let whole = floor(scaled);
  let code = i32(whole) + select(0, 1, scaled - whole >= 0.5);
  return u32(clamp(code, -8, 7)) & 15u;
}

fn encodeGroup(values: array<f32, GROUP_SIZE>) -> array<u32, GROUP_WORDS> {
  var input = values;
  var largest = 0u;
  for (var i = 0u; i < GROUP_SIZE; i++) {
    let magnitude = bitcast<u32>(input[i]) & 0x7fffffffu;
    if (magnitude <= 0x7f800000u) { largest = max(largest, magnitude); }
  }
  let exponent = clamp(i32(largest >> 23u) - 127, LOWEST_EXPONENT, HIGHEST_EXPONENT);
  let factor = bitcast<f32>(u32(129 - exponent) << 23u);
  var words: array<u32, GROUP_WORDS>;
  words[0] = u32(exponent + 128);
  for (var i = 0u; i < GROUP_SIZE; i++) {
    let bit = 8u + 4u * i;
    words[bit / 32u] |= codeOf(input[i], factor) << (bit % 32u);
  }
  return words;
}

fn decodeGroup(firstByte: u32) -> array<f32, GROUP_SIZE> {
  let step = bitcast<f32>((codecByte(firstByte) - 3u) << 23u);
  var values: array<f32, GROUP_SIZE>;
  for (var i = 0u; i < GROUP_SIZE; i++) {
    let code = (codecByte(firstByte + 1u + i / 2u) >> (4u * (i % 2u))) & 15u;
    values[i] = f32(i32(code << 28u) >> 28u) * step;
  }
  return values;
}
`;

/** As above: nothing here depends on how products round, or on whether they are fused with sums. */
const CUDA = `
__device__ unsigned bitsOf(float value) {
  unsigned bits;
  memcpy(&bits, &value, 4);
  return bits;
}

__device__ float powerOfTwo(int exponent) {
  unsigned bits = (unsigned)(exponent + 127) << 23;
  float power;
  memcpy(&power, &bits, 4);
  return power;
}

__device__ unsigned codeOf(float value, float factor) {
  if ((bitsOf(value) & 0x7fffffffu) > 0x7f800000u) return 0u;
  float product = value * factor;
  float scaled = product < -9.0f ? -9.0f : product > 9.0f ? 9.0f : product;
  float whole = floorf(scaled);
  int code = (int)whole + (scaled - whole >= 0.5f ? 1 : 0);
  return (unsigned)(code < -8 ? -8 : code > 7 ? 7 : code) & 15u;
}

__device__ void encodeGroup(const float* values, unsigned char* bytes) {
  unsigned largest = 0u;
  for (int i = 0; i < GROUP_SIZE; i++) {
    unsigned magnitude = bitsOf(values[i]) & 0x7fffffffu;
    if (magnitude <= 0x7f800000u && magnitude > largest) largest = magnitude;
  }
  int exponent = (int)(largest >> 23) - 127;
  exponent = exponent < ${LOWEST_EXPONENT} ? ${LOWEST_EXPONENT} : exponent > ${HIGHEST_EXPONENT} ? ${HIGHEST_EXPONENT} : exponent;
  float factor = powerOfTwo(2 - exponent);
  bytes[0] = (unsigned char)(exponent + 128);
  for (int at = 1; at < GROUP_BYTES; at++) {
    int first = 2 * (at - 1);
    unsigned second = first + 1 < GROUP_SIZE ? codeOf(values[first + 1], factor) : 0u;
    bytes[at] = (unsigned char)(codeOf(values[first], factor) | second << 4);
  }
}

__device__ void decodeGroup(const unsigned char* bytes, float* values) {
  float step = powerOfTwo((int)bytes[0] - 130);
  for (int i = 0; i < GROUP_SIZE; i++) {
    int code = bytes[1 + i / 2] >> (4 * (i % 2)) & 15;
    values[i] = (float)(code < 8 ? code : code - 16) * step;
  }
}
`;
