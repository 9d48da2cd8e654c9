/**
 * A codec for tests: one exponent per group, four bits per value; in TypeScript and in WGSL.
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
