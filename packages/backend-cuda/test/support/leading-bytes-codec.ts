/**
 * A codec for tests: the first bytes of every f32. Its texts for two counts of bytes declare the same names, macros included.
 */
import type { QuantizedTensorScheme } from '@lowbit-kv/core';
import type { CudaCodec } from '../../src/codecs/codec-source.js';

export function leadingBytesCodec(groupSize: number, kept: 2 | 3): CudaCodec {
  const shift = 32 - 8 * kept;
  return {
    id: `leading-bytes-${groupSize}-${kept}`,
    version: 1,
    groupSize,
    groupBytes: groupSize * kept,
    encodeGroup(values, bytes) {
      const words = new Uint32Array(values.slice().buffer);
      for (const [i, word] of words.entries()) {
        const isNumber = (word & 0x7f80_0000) !== 0x7f80_0000;
        for (let byte = 0; byte < kept; byte++)
          bytes[kept * i + byte] = isNumber ? word >>> (shift + 8 * byte) : 0;
      }
    },
    decodeGroup(bytes, values) {
      const words = new Uint32Array(groupSize);
      for (const [i, byte] of bytes.entries())
        words[Math.floor(i / kept)]! |= byte << (shift + 8 * (i % kept));
      values.set(new Float32Array(words.buffer));
    },
    cuda: `
#define KEPT ${kept}
#define SHIFT (32 - 8 * KEPT)
__device__ const unsigned EXPONENT = 0x7f800000u;
__device__ void encodeGroup(const float* values, unsigned char* bytes) {
  for (int i = 0; i < GROUP_SIZE; i++) {
    unsigned word;
    memcpy(&word, values + i, 4);
    if ((word & EXPONENT) == EXPONENT) word = 0u;
    for (int byte = 0; byte < KEPT; byte++) bytes[KEPT * i + byte] = (unsigned char)(word >> (SHIFT + 8 * byte));
  }
}
__device__ void decodeGroup(const unsigned char* bytes, float* values) {
  for (int i = 0; i < GROUP_SIZE; i++) {
    unsigned word = 0u;
    for (int byte = 0; byte < KEPT; byte++) word |= (unsigned)bytes[KEPT * i + byte] << (SHIFT + 8 * byte);
    memcpy(values + i, &word, 4);
  }
}
#if GROUP_BYTES != KEPT * GROUP_SIZE
#error sizes
#endif
`,
  };
}

/** A tensor whose groups a codec of their size encodes. */
export function encodedBy(
  { id, version, groupBytes, groupSize }: CudaCodec,
  along: 'tokens' | 'channels',
): QuantizedTensorScheme {
  return {
    bits: 8,
    groups: { along, size: groupSize },
    quantizer: { mode: 'codec', codes: id, version, groupBytes },
    parameters: {},
    window: { recent: 5, flush: along === 'tokens' ? groupSize : 1 },
  };
}
