// Mutants of the pages' side of the law: packing, parameters in a page, decoding, transforms, statistics, codecs.
import type { Target } from '../mutant.js';

const pageTests = ['law/law-vectors.test.ts', 'law/properties.test.ts', 'law/pages.test.ts'];
const transformTests = [
  'plan/calibrated-transforms.test.ts',
  'law/transforms.test.ts',
  'law/law-vectors.test.ts',
];

export const codecTargets: readonly Target[] = [
  {
    file: 'law/bits.ts',
    tests: ['law/bits.test.ts', 'law/pages.test.ts'],
    mutants: [
      {
        kind: 'shift',
        find: '((codes[from + 2] as number) << 4)',
        replace: '((codes[from + 2] as number) << 3)',
        why: 'the third of four codes lies a bit too low',
      },
      {
        kind: 'bound',
        find: 'for (; filled > 0; filled -= 8, word >>>= 8)',
        replace: 'for (; filled > 8; filled -= 8, word >>>= 8)',
        why: 'the last byte of a row is not written',
      },
      {
        kind: 'shift',
        find: '(word >>> (bit & 7)) & mask',
        replace: '(word >>> (bit & 6)) & mask',
        why: 'codes that start at odd bits are read a bit too low',
      },
      {
        kind: 'bound',
        find: 'for (let k = 1; k < bits; k++) word',
        replace: 'for (let k = 1; k < bits - 1; k++) word',
        why: 'the last byte of eight codes is not read',
      },
    ],
  },
  {
    file: 'law/encode-groups.ts',
    tests: pageTests,
    mutants: [
      {
        kind: 'shift',
        find: "codes.rows === 'channels' ? (slot * bits) / 8 :",
        replace: "codes.rows === 'channels' ? (slot * bits) / 4 :",
        why: 'later groups of a block lie beyond their place',
      },
      {
        kind: 'bound',
        find: 'const size = Math.min(tileTokens, count - first);',
        replace: 'const size = Math.min(tileTokens, count - first + 1);',
        why: 'the last tile reads a token that is not there',
      },
      {
        kind: 'shift',
        find: 'const firstGroup = (slot / layout.tokensPerGroup)',
        replace: 'const firstGroup = slot',
        why: 'parameters of later groups along tokens lie beyond their place',
      },
    ],
  },
  {
    file: 'law/encode-bands.ts',
    tests: pageTests,
    mutants: [
      {
        kind: 'shift',
        find: '(band === OUTER ? 64 : 0)',
        replace: '(band === OUTER ? 32 : 0)',
        why: 'the outer flag is a bit of the index',
      },
      {
        kind: 'bound',
        find: 'readEndOffset(page, base, layout, at * endOffsets.chunks - 1)',
        replace: 'readEndOffset(page, base, layout, (at - 1) * endOffsets.chunks)',
        why: 'a token goes on after the first chunk of the one before, not after its last',
      },
      {
        kind: 'bound',
        find: 'if (end === entries.capacity) throw',
        replace: 'if (end === entries.capacity - 1) throw',
        why: 'the last place for an outlier is refused',
      },
    ],
  },
  {
    file: 'law/top-outliers.ts',
    tests: ['plan/top-outliers.test.ts', ...pageTests],
    mutants: [
      {
        kind: 'sign',
        find: 'const magnitude = (bits[0] as number) & 0x7fffffff;',
        replace: 'const magnitude = bits[0] as number;',
        why: 'negative values are never outliers',
      },
      {
        kind: 'bound',
        find: 'magnitude >= 0x7f800000 ? 0 : magnitude + 1',
        replace: 'magnitude > 0x7f800000 ? 0 : magnitude + 1',
        why: 'an infinite value is an outlier',
      },
      {
        kind: 'bound',
        find: 'for (const rank of ranks) if (rank > least) ties--;',
        replace: 'for (const rank of ranks) if (rank >= least) ties--;',
        why: 'too few of equal magnitudes are taken',
      },
      {
        kind: 'bound',
        find: 'const first = (slot + token) * top.count;',
        replace: 'const first = token * top.count;',
        why: 'a read that starts inside a page gets the outliers of its first tokens',
      },
    ],
  },
  {
    file: 'law/group-reader.ts',
    tests: pageTests,
    mutants: [
      {
        kind: 'sign',
        find: 'this.scale = scales.value(asymmetric ? bits & ~this.#signBit : bits);',
        replace: 'this.scale = scales.value(bits);',
        why: 'the mark of an asymmetric group is read as a sign',
      },
      {
        kind: 'bound',
        find: '(code < half ? code : code - 2 * half)',
        replace: '(code <= half ? code : code - 2 * half)',
        why: 'the most negative code is read as a positive one',
      },
    ],
  },
  {
    file: 'law/decode.ts',
    tests: pageTests,
    mutants: [
      {
        kind: 'bound',
        find: 'const from = Math.max(slot, group * size);',
        replace: 'const from = group * size;',
        why: 'decoding starts at a group, not at the slot asked for',
        equivalent:
          'tokens before the slot would go in front of the output, and a typed array ignores what is written to negative places',
      },
      {
        kind: 'rounding',
        find: 'Math.fround((levels[codes[i] as number] as number) * scale) + zero',
        replace: '(levels[codes[i] as number] as number) * scale + zero',
        why: 'product and sum are rounded once, as a fused multiply-add',
      },
      {
        kind: 'shift',
        find: 'const fifth = byte >> 7;',
        replace: 'const fifth = byte >> 6;',
        why: 'the fifth bit is read with the outer flag',
      },
      {
        kind: 'shift',
        find: '(nibble | (fifth << 4)) * innerStep',
        replace: '(nibble | (fifth << 3)) * innerStep',
        why: 'the fifth bit of an inner code counts as the fourth',
      },
    ],
  },
  {
    file: 'law/codec.ts',
    tests: ['law/codec.test.ts'],
    mutants: [
      {
        kind: 'bound',
        find: 'const first = (token - start) * channelsPerGroup;',
        replace: 'const first = (token - from) * channelsPerGroup;',
        why: 'a read that starts inside a group gets the start of the group',
      },
      {
        kind: 'rounding',
        find: 'Math.floor(slot / tokensPerGroup) * tokensPerGroup',
        replace: 'Math.round(slot / tokensPerGroup) * tokensPerGroup',
        why: 'a read that starts in the second half of a group misses it',
      },
    ],
  },
  {
    file: 'law/page-bytes.ts',
    tests: pageTests,
    mutants: [
      {
        kind: 'shift',
        find: 'bytes[offset + 1] = value >>> 8;',
        replace: 'bytes[offset + 1] = value >>> 7;',
        why: 'the upper byte of a parameter is off by a bit',
      },
      {
        kind: 'shift',
        find: '(readU16(bytes, offset + 2) << 16)',
        replace: '(readU16(bytes, offset + 2) << 15)',
        why: 'sign and exponent of an f32 parameter are off by a bit',
      },
    ],
  },
  {
    file: 'law/statistics.ts',
    tests: transformTests,
    mutants: [
      {
        kind: 'rounding',
        find: 'const share = Math.fround(1 / tokens);',
        replace: 'const share = 1 / tokens;',
        why: 'the reciprocal of the number of tokens is not rounded to f32',
      },
      {
        kind: 'sign',
        find: 'return Math.abs(mean) >= Math.fround(',
        replace: 'return mean >= Math.fround(',
        why: 'negative means are never large enough to be taken',
      },
      {
        kind: 'bound',
        find: 'if (median < threshold)',
        replace: 'if (median <= threshold)',
        why: 'a head whose spread is exactly the smallest one is left alone',
      },
      {
        kind: 'shift',
        find: 'ordered[headDim >> 1]',
        replace: 'ordered[(headDim - 1) >> 1]',
        why: 'the median of an even count is the other middle',
      },
    ],
  },
  {
    file: 'law/transform-steps.ts',
    tests: transformTests,
    mutants: [
      {
        kind: 'sign',
        find: 'values[at + c] = (values[at + c] as number) - (this.#means[first + c] as number);',
        replace:
          'values[at + c] = (values[at + c] as number) + (this.#means[first + c] as number);',
        why: 'packing adds the mean',
      },
      {
        kind: 'sign',
        find: 'sum[at + c] = (sum[at + c] as number) + (this.#means[first + c] as number) * weight;',
        replace:
          'sum[at + c] = (sum[at + c] as number) - (this.#means[first + c] as number) * weight;',
        why: 'attention takes the mean of the values away once more',
      },
      {
        kind: 'rounding',
        find: 'hadamard(values, at, this.#dim, Math.fround(1 / Math.sqrt(this.#dim)));',
        replace: 'hadamard(values, at, this.#dim, 1 / Math.sqrt(this.#dim));',
        why: 'the factor of a rotation is not rounded to f32',
      },
    ],
  },
  {
    file: 'law/transforms.ts',
    tests: [...transformTests, 'programs/random-programs.test.ts'],
    mutants: [
      {
        kind: 'sign',
        find: 'this.#steps.toReversed()',
        replace: 'this.#steps',
        why: 'transforms are undone first to last',
      },
    ],
  },
  {
    file: 'law/rotation.ts',
    tests: transformTests,
    mutants: [
      {
        kind: 'sign',
        find: 'values[i + stride] = a - b;',
        replace: 'values[i + stride] = b - a;',
        why: 'the second half of a butterfly is negated',
      },
      {
        kind: 'shift',
        find: 'hash ^ (hash >>> 13)',
        replace: 'hash ^ (hash >>> 14)',
        why: 'the signs are those of another hash',
      },
    ],
  },
  {
    file: 'law/rotary.ts',
    tests: ['law/rotary.test.ts'],
    mutants: [
      {
        kind: 'sign',
        find: 'vector[first] = a * cosine - b * sine;',
        replace: 'vector[first] = a * cosine + b * sine;',
        why: 'half of a rotation runs backwards',
      },
    ],
  },
];
