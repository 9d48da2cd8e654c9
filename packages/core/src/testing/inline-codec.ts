/**
 * A codec for tests: one exponent per group, four bits per value.
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
  };
}
