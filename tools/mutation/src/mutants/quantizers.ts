// Mutants of the group quantizers: values to codes and parameters.
import type { Target } from '../mutant.js';

const groupTests = [
  'law/spec-vectors.test.ts',
  'law/parameter-types.test.ts',
  'law/parameter-corners.test.ts',
  'law/law-vectors.test.ts',
  'law/properties.test.ts',
];

export const quantizerTargets: readonly Target[] = [
  {
    file: 'law/asymmetric-f16.ts',
    tests: [
      'law/parameter-corners.test.ts',
      'law/spec-vectors.test.ts',
      'law/law-vectors.test.ts',
      'law/properties.test.ts',
      'law/pages.test.ts',
    ],
    mutants: [
      {
        kind: 'sign',
        find: 'const difference = lowKey - highKey;',
        replace: 'const difference = highKey - lowKey;',
        why: 'of a pair of values, the larger one counts as the smaller',
      },
      {
        kind: 'shift',
        find: 'const highKey = high ^ ((high >> 15) & 0x7fff);',
        replace: 'const highKey = high ^ ((high >> 14) & 0x7fff);',
        why: 'values of at least 2 are ordered backwards',
      },
      {
        kind: 'sign',
        find: 'minimum += below & (below >> 31);',
        replace: 'minimum -= below & (below >> 31);',
        why: 'the minimum moves away from a smaller value',
      },
      {
        kind: 'rounding',
        find: 'const step = Math.fround(1 / (2 ** bits - 1));',
        replace: 'const step = 1 / (2 ** bits - 1);',
        why: 'the reciprocal of the largest code is not rounded to f32',
      },
      {
        kind: 'rounding',
        find: 'const ab = a + snapper + toRounder - rounder +',
        replace: 'const ab = a + rounder - rounder +',
        why: 'a product that is a tie only in exact arithmetic is rounded as it falls',
      },
      {
        kind: 'sign',
        find: 'if (zeros[group] === MINUS_ZERO) zeros[group] = 0;',
        replace: 'if (zeros[group] === 0) zeros[group] = MINUS_ZERO;',
        why: 'a zero of +0 is stored as -0',
      },
      {
        kind: 'bound',
        find: 'const LARGEST_KEY = 0x7bff;',
        replace: 'const LARGEST_KEY = 0x7c00;',
        why: 'infinity stays on the fast path',
      },
      {
        kind: 'shift',
        find: 'if (bits === 4) page[to++] = codes >> 8;',
        replace: 'if (bits === 4) page[to++] = codes >> 7;',
        why: 'the second byte of four codes is off by a bit',
      },
    ],
  },
  {
    file: 'law/asymmetric.ts',
    tests: groupTests,
    mutants: [
      {
        kind: 'rounding',
        find: 'const code = Math.fround((values[i] as number) - zero) / scale + rounder - rounder;',
        replace: 'const code = Math.round(Math.fround((values[i] as number) - zero) / scale);',
        why: 'ties go up, not to even',
      },
      {
        kind: 'rounding',
        find: 'Math.fround((values[i] as number) - zero) / scale',
        replace: '((values[i] as number) - zero) / scale',
        why: 'the difference is not rounded to f32',
      },
      {
        kind: 'sign',
        find: 'Math.fround(maximum - zero)',
        replace: 'Math.fround(maximum + zero)',
        why: 'the range is measured from the wrong side of 0',
      },
      {
        kind: 'bound',
        find: 'const range = Math.max(Math.fround(maximum - zero), 0);',
        replace: 'const range = Math.fround(maximum - zero);',
        why: 'a zero that was rounded up gives a negative scale',
      },
      {
        kind: 'bound',
        find: 'if (minimum > maximum) minimum = maximum = 0;',
        replace: 'if (minimum >= maximum) minimum = maximum = 0;',
        why: 'a group of equal values counts as empty',
      },
      {
        kind: 'bound',
        find: 'const largestCode = 2 ** bits - 1;',
        replace: 'const largestCode = 2 ** bits - 2;',
        why: 'the largest code is never used',
      },
    ],
  },
  {
    file: 'law/symmetric.ts',
    tests: groupTests,
    mutants: [
      {
        kind: 'sign',
        find: "set === 'fullSigned' ? -extreme : largest",
        replace: "set === 'fullSigned' ? extreme : largest",
        why: 'the extreme value lands on the code that is missing',
      },
      {
        kind: 'bound',
        find: "const lowest = set === 'signmag' ? 1 - half : -half;",
        replace: 'const lowest = -half;',
        why: 'signmag uses the code that it has not, where a scale saturates',
      },
      {
        kind: 'bound',
        find: 'const highest = half - 1;',
        replace: 'const highest = half;',
        why: 'the largest positive value wraps around',
      },
      {
        kind: 'rounding',
        find: 'const code = (values[i] as number) / scale + rounder - rounder;',
        replace: 'const code = Math.round((values[i] as number) / scale);',
        why: 'ties go up, not to even',
      },
      {
        kind: 'bound',
        find: 'if (magnitude > largest) {',
        replace: 'if (magnitude >= largest) {',
        why: 'the last value of largest magnitude decides the sign, not the first',
      },
      {
        kind: 'shift',
        find: 'const shift = 32 - bits;',
        replace: 'const shift = 31 - bits;',
        why: 'the sign bit of a code is not the one that is extended',
      },
    ],
  },
  {
    file: 'law/hybrid.ts',
    tests: [...groupTests, 'law/transforms.test.ts'],
    mutants: [
      {
        kind: 'sign',
        find: 'Math.abs(Math.fround(product + zero) - value)',
        replace: 'Math.abs(Math.fround(product - zero) - value)',
        why: 'the asymmetric side is judged with a wrong zero',
      },
      {
        kind: 'bound',
        find: '? asymmetricError < symmetricError',
        replace: '? asymmetricError <= symmetricError',
        why: 'equal errors go to the asymmetric side against the rule',
      },
      {
        kind: 'rounding',
        find: 'terms[i] = (terms[2 * i] as number) + (terms[2 * i + 1] as number);',
        replace: 'terms[i] = (terms[i] as number) + (terms[i + pairs] as number);',
        why: 'the sum runs over another tree, so it rounds differently',
      },
      {
        kind: 'shift',
        find: 'left = (left + 1) >> 1;',
        replace: 'left = left >> 1;',
        why: 'the odd last term is lost',
      },
    ],
  },
  {
    file: 'law/levels.ts',
    tests: groupTests,
    mutants: [
      {
        kind: 'sign',
        find: 'const top = Math.max(-(levels[0] as number),',
        replace: 'const top = Math.max(levels[0] as number,',
        why: 'a table whose largest level is negative gets too large a scale',
      },
      {
        kind: 'bound',
        find: 'value > (thresholds[count] as number)) count++;',
        replace: 'value >= (thresholds[count] as number)) count++;',
        why: 'a value on a middle goes to the upper level of a short table',
      },
      {
        kind: 'bound',
        find: 'if (value > (thresholds[count + step - 1] as number)) count += step;',
        replace: 'if (value >= (thresholds[count + step - 1] as number)) count += step;',
        why: 'a value on a middle goes to the upper level of a long table',
      },
      {
        kind: 'shift',
        find: '(thresholds.length + 1) >> 1; step > 0;',
        replace: '(thresholds.length + 1) >> 2; step > 0;',
        why: 'the search never reaches the upper half of a long table',
      },
      {
        kind: 'bound',
        find: 'Math.fround(1 / members)',
        replace: 'Math.fround(1 / size)',
        why: 'a NaN counts as a member of a root mean square',
      },
    ],
  },
  {
    file: 'law/bands.ts',
    tests: [
      'law/parameter-corners.test.ts',
      'law/spec-vectors.test.ts',
      'law/law-vectors.test.ts',
      'law/properties.test.ts',
    ],
    mutants: [
      {
        kind: 'sign',
        find: 'low === 1 ? edges.outerLow - magnitude',
        replace: 'low === 1 ? edges.outerLow + magnitude',
        why: 'a low outlier decodes on the wrong side of its threshold',
      },
      {
        kind: 'rounding',
        find: 'const magnitude = ((nibble & 7) * 2 + 1) * (maximum / 16);',
        replace: 'const magnitude = ((nibble & 7) * 2) * (maximum / 16);',
        why: 'a cell decodes to its edge, not to its middle',
      },
    ],
  },
  {
    file: 'law/quantize-bands.ts',
    tests: [
      'law/parameter-corners.test.ts',
      'law/spec-vectors.test.ts',
      'law/law-vectors.test.ts',
      'law/properties.test.ts',
    ],
    mutants: [
      {
        kind: 'bound',
        find: 'Number(value <= outerLow)',
        replace: 'Number(value < outerLow)',
        why: 'a value on the lower outer threshold is not outer',
      },
      {
        kind: 'bound',
        find: 'Number(value > innerLow)',
        replace: 'Number(value >= innerLow)',
        why: 'a value on the lower inner threshold is inner',
      },
      {
        kind: 'bound',
        find: 'const cell = ((8 * magnitude) / maximum) | 0;',
        replace: 'const cell = Math.max(Math.ceil((8 * magnitude) / maximum) - 1, 0);',
        why: 'a value on the edge of a cell goes to the lower one',
      },
      {
        kind: 'sign',
        find: 'Math.min(least, -(2 ** -14))',
        replace: 'Math.min(least, 2 ** -14)',
        why: 'a low side need not get a code below zero',
      },
      {
        kind: 'bound',
        find: 'parameters.middleStep++;',
        replace: 'parameters.middleStep += 0;',
        why: 'a high side may get no code at or above zero',
      },
      {
        kind: 'bound',
        find: 'const mostCodes = [Math.max(lowCodes - 1, 0), 15];',
        replace: 'const mostCodes = [lowCodes, 15];',
        why: 'a value of the low side may decode on the high side',
      },
      {
        kind: 'rounding',
        find: 'const code = difference / step + rounder - rounder;',
        replace: 'const code = Math.round(difference / step);',
        why: 'ties go up, not to even',
      },
      {
        kind: 'shift',
        find: 'fifthBits[i] = code >> 4;',
        replace: 'fifthBits[i] = code >> 3;',
        why: 'the fifth bit of an inner code is the fourth',
      },
    ],
  },
  {
    file: 'law/parameters.ts',
    tests: [
      'law/parameter-types.test.ts',
      'law/parameter-corners.test.ts',
      'law/law-vectors.test.ts',
    ],
    mutants: [
      {
        kind: 'rounding',
        find: '(rest === 0.5 && (units & 1) === 1)',
        replace: 'rest === 0.5',
        why: 'ties of E4M3 go up, not to even',
      },
      {
        kind: 'bound',
        find: 'if (value >= LARGEST_E4M3) return 0x7e;',
        replace: 'if (value >= LARGEST_E4M3) return 0x7f;',
        why: 'a saturated E4M3 scale is NaN',
      },
      {
        kind: 'bound',
        find: 'Math.max(exponentOf(value), -6)',
        replace: 'Math.max(exponentOf(value), -7)',
        why: 'the largest E4M3 subnormals get an exponent that does not exist',
      },
      {
        kind: 'shift',
        find: 'const field = magnitude >>> 23;',
        replace: 'const field = magnitude >>> 22;',
        why: 'the exponent of an f32 is read with a mantissa bit',
      },
      {
        kind: 'bound',
        find: 'Math.min(Math.max(exponent + 127, 1), 254)',
        replace: 'Math.min(Math.max(exponent + 127, 0), 254)',
        why: 'the smallest E8M0 scale is lost to 0',
      },
      {
        kind: 'rounding',
        find: 'powerBits(Math.floor(exponentOf(square) / 2))',
        replace: 'powerBits(Math.ceil(exponentOf(square) / 2))',
        why: 'the exponent of a root is rounded up',
      },
      {
        kind: 'bound',
        find: 'const FLOAT_SMALLEST_NORMAL = 0x00800000;',
        replace: 'const FLOAT_SMALLEST_NORMAL = 0x00400000;',
        why: 'subnormal f32 scales are stored, which devices flush',
      },
      {
        kind: 'sign',
        find: 'return ((bits & 0x80000000) | kept) >>> 0;',
        replace: 'return kept >>> 0;',
        why: 'an f32 scale loses its sign',
      },
    ],
  },
  {
    file: 'law/scale.ts',
    tests: [
      'law/parameter-corners.test.ts',
      'law/spec-vectors.test.ts',
      'law/law-vectors.test.ts',
      'law/properties.test.ts',
    ],
    mutants: [
      {
        kind: 'sign',
        find: 'return (bits & 0x8000) | F16_SMALLEST_NORMAL_BITS;',
        replace: 'return F16_SMALLEST_NORMAL_BITS;',
        why: 'a scale that is raised loses its sign',
      },
      {
        kind: 'bound',
        find: 'const F16_SMALLEST_NORMAL_BITS = 0x0400;',
        replace: 'const F16_SMALLEST_NORMAL_BITS = 0x0200;',
        why: 'subnormal f16 scales are stored, which devices flush',
      },
      {
        kind: 'bound',
        find: 'if (magnitude > F16_MAX_BITS) return',
        replace: 'if (magnitude > F16_MAX_BITS + 1) return',
        why: 'a scale that overflows is infinite',
      },
      {
        kind: 'sign',
        find: 'if ((bits & 0x7fff) === 0) return 0;',
        replace: 'if ((bits & 0x7fff) === 0) return bits;',
        why: 'an offset of -0 is stored as it is',
      },
      {
        kind: 'rounding',
        find: 'export const ROUNDER = 6755399441055744;',
        replace: 'export const ROUNDER = 4503599627370496;',
        why: 'negative numbers are rounded to halves',
      },
    ],
  },
  {
    file: 'float16.ts',
    tests: ['law/float16.test.ts'],
    mutants: [
      {
        kind: 'rounding',
        find: '(rest === half && (kept & 1) === 1)',
        replace: 'rest === half',
        why: 'ties of subnormal f16 numbers go away from 0, not to even',
      },
      {
        kind: 'rounding',
        find: '((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13)',
        replace: '((rebased + 0x1000) >>> 13)',
        why: 'ties of normal f16 numbers go away from 0, not to even',
      },
    ],
  },
];
