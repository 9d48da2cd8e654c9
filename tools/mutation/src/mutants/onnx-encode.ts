// Mutants of ONNX graphs that encode: rounding, parameters, quantizers, packing, statistics, sums.
import { mutant, type Target } from '../mutant.js';

const where = 'backend-onnx';
const QUANTIZERS =
  'contract.test.ts::plan: (asymmetric [34]|symmetric (signmag|fullSigned) [34]|hybrid .* [34]) bit along channels';
const CODES =
  'contract.test.ts::plan: .*(scales|squares|table|outliers|five levels|f32 parameters)';
const STATISTICS = ['statistics.test.ts', 'contract.test.ts::plan: .*(means|scale|spread)'];
const CORNERS =
  'contract.test.ts::(ties|subnormals|zeros of both signs|up to 30000): (affine|sinks|short scales)';
const encodeTests = ['spec-vectors.test.ts', CORNERS, QUANTIZERS, CODES, 'encode-property.test.ts'];

export const onnxEncodeTargets: readonly Target[] = [
  {
    package: where,
    file: 'graph/pack.ts',
    tests: encodeTests,
    mutants: [
      mutant(
        'shift',
        'codes of a byte lie in reverse',
        '2 ** (bits * j));',
        '2 ** (bits * (wordCodes - 1 - j)));',
      ),
      mutant('shift', 'the third byte of 3-bit codes is a bit off', '[0, 8, 16]', '[0, 8, 15]'),
    ],
  },
  {
    package: where,
    file: 'graph/rounding.ts',
    tests: encodeTests,
    mutants: [
      mutant(
        'bound',
        'offsets below the range of f16 are infinite',
        'o.maximum(o.minimum(roundToF16(o, value), LARGEST_F16), -LARGEST_F16)',
        'o.minimum(roundToF16(o, value), LARGEST_F16)',
      ),
      mutant(
        'sign',
        'an offset of -0 stays one',
        'o.select(o.equal(limited, 0), 0, limited);',
        'limited;',
      ),
      mutant(
        'bound',
        'scales may be subnormal',
        'o.maximum(rounded, SMALLEST_NORMAL_F16)',
        'rounded',
      ),
      mutant(
        'rounding',
        'codes are divided in f32',
        "o.divide(o.cast(difference, 'float64'), divisor)",
        "o.cast(o.divide(o.cast(difference, 'float32'), o.cast(divisor, 'float32')), 'float64')",
      ),
      mutant(
        'choice',
        'NaN has whatever code it is cast to',
        'o.select(o.or(empty, o.isNaN(code)), 0, limited)',
        'o.select(empty, 0, limited)',
      ),
      mutant(
        'rounding',
        'the middle between two f16 is taken at their quarter',
        "o.cast(neighbour, 'float64')), 0.5)",
        "o.cast(neighbour, 'float64')), 0.25)",
      ),
      mutant(
        'place',
        'a guess that is too small is told by the f16 below it',
        'o.less(excessTowards(above), 0)',
        'o.less(excessTowards(below), 0)',
      ),
    ],
  },
  {
    package: where,
    file: 'graph/parameters.ts',
    tests: ['spec-vectors.test.ts', CODES, CORNERS, QUANTIZERS, 'encode-property.test.ts'],
    mutants: [
      mutant(
        'rounding',
        'an extent is divided, not multiplied with a reciprocal',
        'o.multiply(extent, 1 / top)',
        'o.divide(extent, top)',
      ),
      mutant(
        'rounding',
        'half of an odd negative exponent is rounded up',
        'o.subtract(o.divide(o.add(binaryExponent(o, square), 298), 2), 149)',
        'o.divide(binaryExponent(o, square), 2)',
      ),
      mutant(
        'bound',
        'an offset that was rounded up gives a negative width',
        'o.maximum(o.subtract(o.select(range.empty, 0, range.maximum), minimum), 0)',
        'o.subtract(o.select(range.empty, 0, range.maximum), minimum)',
        'scales of every type store 0 for what is not above 0',
      ),
      mutant(
        'bound',
        'E4M3 has a further exponent',
        'LOWEST_E4M3_EXPONENT = -6',
        'LOWEST_E4M3_EXPONENT = -7',
      ),
      mutant(
        'rounding',
        'a power of two may exceed the extent',
        'return 2 ** guess > value ? guess - 1 : guess;',
        'return guess;',
      ),
      mutant(
        'shift',
        'the exponent of E4M3 is a bit off',
        'o.multiply(field, 8)',
        'o.multiply(field, 4)',
      ),
      mutant(
        'sign',
        'powers of two have another bias',
        'o.add(exponent, 127)',
        'o.add(exponent, 126)',
      ),
    ],
  },
  {
    package: where,
    file: 'graph/encode-groups.ts',
    tests: encodeTests,
    mutants: [
      mutant(
        'bound',
        'the largest code is never used',
        'const largestCode = 2 ** bits - 1;',
        'const largestCode = 2 ** bits - 2;',
      ),
      mutant(
        'bound',
        'signmag uses the code that it has not, where a scale saturates',
        "set === 'signmag' ? 1 - half : -half",
        '-half',
      ),
      mutant(
        'bound',
        'scales of signmag are a code too small',
        "largest, set === 'signmag' ? half - 1 : half)",
        'largest, half)',
      ),
      mutant(
        'place',
        'the last value of largest magnitude decides the sign',
        'select_last_index: 0',
        'select_last_index: 1',
      ),
      mutant(
        'sign',
        'the extreme lands on the code that is missing',
        'o.greater(extreme, 0)',
        'o.less(extreme, 0)',
      ),
      mutant(
        'choice',
        'ties go to the other side',
        "rule.tie === 'symmetric'",
        "rule.tie !== 'symmetric'",
      ),
      mutant(
        'sign',
        'asymmetric groups of hybrid tensors have no mark',
        "o.scalar('float32', -1), o.scalar('float32', 1)",
        "o.scalar('float32', 1), o.scalar('float32', 1)",
      ),
      mutant(
        'shift',
        'negative codes are one too small',
        'o.add(signed, 2 ** bits)',
        'o.add(signed, 2 ** bits - 1)',
      ),
      mutant(
        'sign',
        'errors of both signs cancel',
        'o.absolute(o.subtract(decoded, values))',
        'o.subtract(decoded, values)',
      ),
    ],
  },
  {
    package: where,
    file: 'graph/pairwise-sum.ts',
    tests: ['statistics.test.ts', ...encodeTests],
    mutants: [
      mutant(
        'rounding',
        'the sum runs over another tree',
        'o.add(o.slice(sums, axis, 0, left, 2), o.slice(sums, axis, 1, left, 2))',
        'o.add(o.slice(sums, axis, 0, left / 2), o.slice(sums, axis, left / 2, left))',
      ),
    ],
  },
  {
    package: where,
    file: 'graph/statistics.ts',
    tests: STATISTICS,
    mutants: [
      mutant(
        'rounding',
        'a mean is divided, not multiplied',
        'o.multiply(sum, 1 / tokens)',
        'o.divide(sum, tokens)',
      ),
      mutant(
        'bound',
        'the median is that of a channel less',
        'Math.floor(headDim / 2)',
        'Math.floor(headDim / 2) - 1',
      ),
      mutant(
        'sign',
        'the largest channels are looked at',
        'largest: 0, sorted',
        'largest: 1, sorted',
      ),
      mutant(
        'sign',
        'excesses are of the root, not of its square',
        'o.multiply(o.multiply(middle, middle), m)',
        'o.multiply(middle, m)',
      ),
      mutant(
        'sign',
        'negative means are never clear',
        'o.atLeast(o.absolute(means),',
        'o.atLeast(means,',
      ),
      mutant(
        'sign',
        'deviations of both signs cancel',
        'o.absolute(o.subtract(values, means))',
        'o.subtract(values, means)',
      ),
      mutant(
        'sign',
        'a reciprocal settles away from the right one',
        'o.subtract(o.multiply(middle, maximum), wanted)',
        'o.subtract(wanted, o.multiply(middle, maximum))',
      ),
    ],
  },
];
