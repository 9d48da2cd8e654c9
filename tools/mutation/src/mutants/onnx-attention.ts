// Mutants of ONNX graphs that decode and attend: codes and parameters of pages, transforms, masks, softmax.
import { mutant, type Target } from '../mutant.js';

const where = 'backend-onnx';
const QUANTIZERS =
  'contract.test.ts::plan: (asymmetric [34]|symmetric (signmag|fullSigned) [34]|hybrid .* [34]) bit';
const CODES =
  'contract.test.ts::plan: .*(scales|squares|table|outliers|five levels|f32 parameters)';
const TRANSFORMS = 'contract.test.ts::plan: .*(means|rotation|scale|orders|transforms)';
const GEOMETRY =
  'contract.test.ts::plan: .*(sliding|cap|query heads|scale of its own|sinks|packed)';
const QUERIES = 'contract.test.ts::many queries';
const decodeTests = [QUANTIZERS, CODES];

export const onnxAttentionTargets: readonly Target[] = [
  {
    package: where,
    file: 'graph/unpack.ts',
    tests: decodeTests,
    mutants: [
      mutant(
        'shift',
        'the upper 12 bits of 3-bit codes are a bit off',
        'o.divide(word, 0x1000)',
        'o.divide(word, 0x800)',
      ),
      mutant(
        'shift',
        'codes of a byte are read in reverse',
        'pattern >>> (j * bits)',
        'pattern >>> ((codes - 1 - j) * bits)',
      ),
      mutant('shift', 'upper bytes weigh too little', '256 ** i', '255 ** i'),
    ],
  },
  {
    package: where,
    file: 'graph/parameter-values.ts',
    tests: ['extreme-values.test.ts', ...decodeTests],
    mutants: [
      mutant('shift', 'the mantissa lacks its first bit', 'leadingOne - 1)', 'leadingOne / 2 - 1)'),
      mutant(
        'bound',
        'subnormal numbers are half of what they are',
        '2 ** (Math.max(e, 1) - bias)',
        '2 ** (e - bias)',
      ),
      mutant(
        'shift',
        'E4M3 has another bias',
        '(8 + mantissa) * 2 ** (field - 10)',
        '(8 + mantissa) * 2 ** (field - 9)',
      ),
      mutant('shift', 'subnormal E4M3 are twice as large', 'mantissa / 512', 'mantissa / 256'),
    ],
  },
  {
    package: where,
    file: 'graph/dequantize.ts',
    tests: [...decodeTests, GEOMETRY],
    mutants: [
      mutant(
        'bound',
        'the most negative code is positive',
        'o.atLeast(codes, 2 ** (bits - 1))',
        'o.greater(codes, 2 ** (bits - 1))',
      ),
      mutant(
        'shift',
        'negative codes of hybrid groups are half a turn off',
        "o.scalar('float32', 2 ** bits),",
        "o.scalar('float32', 2 ** (bits - 1)),",
      ),
      mutant('place', 'tokens of blocks are mixed: keys', '[1, 2, 0, 3]', '[1, 2, 3, 0]'),
      mutant('place', 'tokens of blocks are mixed: values', '[1, 0, 3, 2]', '[1, 3, 0, 2]'),
    ],
  },
  {
    package: where,
    file: 'graph/top-outliers.ts',
    tests: ['extreme-values.test.ts', 'contract.test.ts::outliers', 'encode-property.test.ts'],
    mutants: [
      mutant(
        'bound',
        'an infinite value is an outlier',
        'o.select(o.atMost(magnitudes, LARGEST_F32), magnitudes, -1)',
        'magnitudes',
      ),
      mutant(
        'shift',
        'channels from 256 on come back as lower ones',
        'o.divide(apart, 256)',
        'o.bitAnd(apart, 0)',
      ),
    ],
  },
  {
    package: where,
    file: 'graph/value-sums.ts',
    tests: ['extreme-values.test.ts', TRANSFORMS, 'cases.test.ts'],
    mutants: [
      mutant(
        'bound',
        'the last f16 value is undone like a packed one',
        'o.greater(places, looseCount)',
        'o.atLeast(places, looseCount)',
      ),
      mutant(
        'place',
        'weights of f16 values count for packed ones',
        'o.reduceSum(packedWeights, [2])',
        'o.reduceSum(weights, [2])',
      ),
      mutant(
        'sign',
        'minus infinity reaches queries that do not see it',
        'o.atMost(o.absolute(loose), LARGEST_F16)',
        'o.atMost(loose, LARGEST_F16)',
      ),
    ],
  },
  {
    package: where,
    file: 'graph/key-dots.ts',
    tests: [TRANSFORMS],
    mutants: [
      mutant(
        'choice',
        'means that were taken from keys are forgotten',
        'folded.added === null ? products :',
        'folded.added !== null ? products :',
      ),
    ],
  },
  {
    package: where,
    file: 'graph/query-matrix.ts',
    tests: [GEOMETRY, QUERIES, TRANSFORMS],
    mutants: [
      mutant('place', 'query heads and queries change places', '[2, 3, 0, 1]', '[2, 3, 1, 0]'),
    ],
  },
  {
    package: where,
    file: 'graph/streams.ts',
    tests: [GEOMETRY],
    mutants: [
      mutant('bound', 'tokens are those before them', 'o.add(indices, 1)', 'o.add(indices, 0)'),
    ],
  },
  {
    package: where,
    file: 'graph/attention.ts',
    tests: [GEOMETRY, QUERIES],
    mutants: [
      mutant(
        'bound',
        'a query does not see its own token',
        'o.atMost(positions, rows)',
        'o.less(positions, rows)',
      ),
      mutant(
        'bound',
        'a sliding window is a token longer',
        'o.greater(positions, o.subtract(rows, window.size))',
        'o.atLeast(positions, o.subtract(rows, window.size))',
      ),
      mutant(
        'bound',
        'a sliding window has a sink more',
        'o.less(positions, window.sinks)',
        'o.atMost(positions, window.sinks)',
      ),
      mutant(
        'sign',
        'a soft cap is forgotten behind the tangent',
        'o.multiply(o.tangentHyperbolic(o.divide(logits, softCap)), softCap)',
        'o.tangentHyperbolic(o.divide(logits, softCap))',
      ),
      mutant(
        'place',
        'query heads meet the wrong kv heads',
        'o.reshape(o.transpose(split, [0, 2, 1, 3]),',
        'o.reshape(split,',
      ),
      mutant(
        'sign',
        'a log-sum-exp lacks its reference',
        'o.add(reference, o.logarithm(total))',
        'o.logarithm(total)',
      ),
      mutant(
        'choice',
        'what is not visible has a weight',
        'o.select(visible, o.exponential(o.subtract(logits, reference)), 0)',
        'o.exponential(o.subtract(logits, reference))',
      ),
      mutant(
        'bound',
        'the zero entry is seen',
        'NEVER_VISIBLE = Number.MAX_SAFE_INTEGER',
        'NEVER_VISIBLE = 0',
      ),
    ],
  },
  {
    package: where,
    file: 'graph/transforms.ts',
    tests: [TRANSFORMS],
    mutants: [
      mutant(
        'place',
        'every transform has the first statistics',
        '0, plane, ++plane)',
        '0, 0, ++plane && 1)',
      ),
      mutant(
        'place',
        'transforms are undone in their order',
        'steps.reduceRight(',
        'steps.reduce(',
      ),
    ],
  },
  {
    package: where,
    file: 'graph/transform-steps.ts',
    tests: [TRANSFORMS],
    mutants: [
      mutant(
        'sign',
        'means come back whole, whatever the weight',
        'o.multiply(wide(), weight)',
        'wide()',
      ),
      mutant(
        'place',
        'an order is done again instead of undone',
        'order.map((channels) => channels.map((_, c) => channels.indexOf(c)))',
        'order',
      ),
      mutant(
        'sign',
        'queries are rotated without signs',
        'rotateByMatrix(o, signed(query), headDim)',
        'rotateByMatrix(o, query, headDim)',
      ),
      mutant(
        'sign',
        'sums come back without signs',
        'signed(rotateByMatrix(o, sums, headDim))',
        'rotateByMatrix(o, sums, headDim)',
      ),
    ],
  },
  {
    package: where,
    file: 'graph/rotation.ts',
    tests: [TRANSFORMS],
    mutants: [
      mutant(
        'sign',
        'differences have the wrong sign',
        'o.subtract(even, odd)',
        'o.subtract(odd, even)',
      ),
      mutant('sign', 'the matrix has the wrong sign', '? -1 : 1,', '? 1 : -1,'),
      mutant('shift', 'another hash gives the signs', 'hash >> 13n', 'hash >> 12n'),
    ],
  },
];
