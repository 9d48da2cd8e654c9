// Mutants of WGSL: decoding, attention, merging, transforms, statistics, what callers give, and packing.
import { mutant, type Target } from '../mutant.js';

const where = 'backend-webgpu';
const plans = (names: string) => `contract.test.ts::plan: .*(${names})`;
const GROUPS = plans(
  'affine groups, packed|hybrid full 3 bit along tokens|symmetric fullSigned 3 bit along channels',
);
const TRANSFORMS = plans(
  'means and rotations|twice each|channel scales of values|signed rotations',
);
const BANDS = plans('bands (midRise|uniform)|outlier bands$');
const TOP = plans('top outliers|outliers of tables|256 channels');
const PARAMETERS = plans(
  'e4m3 scales|powers of two as scales$|f32 scales|root mean|tables over a zero',
);
const GEOMETRY = plans('sinks, windows and|soft cap|scale of its own|three query heads');

export const wgslTargets: readonly Target[] = [
  {
    package: where,
    file: 'shaders/attention.wgsl',
    tests: [GEOMETRY, TRANSFORMS, 'partial-results.test.ts'],
    mutants: [
      mutant(
        'sign',
        'sums grow where they should shrink',
        'exp(old - maximum), vec4<f32>(1.0)',
        'exp(maximum - old), vec4<f32>(1.0)',
      ),
      mutant(
        'sign',
        'weights of earlier tiles keep their old reference',
        'sum = sum * rescale + total;',
        'sum = sum + total;',
      ),
      mutant(
        'choice',
        'weights of f16 values count for packed ones',
        'select(vec4<f32>(0.0), total, isPacked)',
        'select(total, vec4<f32>(0.0), isPacked)',
      ),
      mutant(
        'sign',
        'logits have no scale',
        'let logits = dots * LOGIT_SCALE;',
        'let logits = dots;',
      ),
      mutant(
        'sign',
        'a soft cap is forgotten behind the tangent',
        'SOFT_CAP * tanh(logits / SOFT_CAP)',
        'tanh(logits / SOFT_CAP)',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/attention-dots.wgsl',
    tests: [TRANSFORMS, GEOMETRY],
    mutants: [
      mutant(
        'sign',
        'means of keys are taken away twice',
        'dots += query_tile[QUERY_WORDS - 4u];',
        'dots -= query_tile[QUERY_WORDS - 4u];',
      ),
      mutant(
        'choice',
        'packed keys meet plain queries',
        'select(0u, key_headDim, transformed)',
        '0u',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/values-plain.wgsl',
    tests: [GEOMETRY, GROUPS],
    mutants: [
      mutant('sign', 'the sum of weights is the last one', 'total += weight;', 'total = weight;'),
    ],
  },
  {
    package: where,
    file: 'shaders/merge.wgsl',
    tests: [GEOMETRY, TRANSFORMS, 'partial-results.test.ts'],
    mutants: [
      mutant(
        'sign',
        'splits are added without their factors',
        'sums += header.yz * factor;',
        'sums += header.yz;',
      ),
      mutant(
        'sign',
        'a log-sum-exp lacks its maximum',
        'bitcast<u32>(maximum + log(sums.x))',
        'bitcast<u32>(log(sums.x))',
      ),
      mutant(
        'place',
        'means come back by the weight of all values',
        'invertRow(head, statisticsPage, sums.y, lane);',
        'invertRow(head, statisticsPage, sums.x, lane);',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/query-mean.wgsl',
    tests: [TRANSFORMS],
    mutants: [
      mutant('sign', 'the second mean replaces the first', 'added += total;', 'added = total;'),
    ],
  },
  {
    package: where,
    file: 'shaders/row.wgsl',
    tests: [TRANSFORMS],
    mutants: [
      mutant(
        'shift',
        'another hash gives the signs',
        '(hash ^ (hash >> 13u))',
        '(hash ^ (hash >> 12u))',
      ),
      mutant(
        'place',
        'pairs of a butterfly overlap',
        '(pair / stride) * 2u * stride',
        '(pair / stride) * stride',
      ),
      mutant('sign', 'differences have the wrong sign', 'exactly(a - b)', 'exactly(b - a)'),
    ],
  },
  {
    package: where,
    file: 'shaders/gather.wgsl',
    tests: [TRANSFORMS, GROUPS],
    mutants: [
      mutant(
        'place',
        'runs are read from the start of their page',
        'row - commands[span] + commands[span + 3u];',
        'row - commands[span];',
      ),
      mutant(
        'bound',
        'the first row of a span is of the one before',
        'middle * SPAN_WORDS] <= row',
        'middle * SPAN_WORDS] < row',
      ),
      mutant(
        'place',
        'heads of a window page overlap',
        '(head * WINDOW_TOKENS + token)',
        '(head + token)',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/write.wgsl',
    tests: [GEOMETRY, GROUPS],
    mutants: [
      mutant(
        'place',
        'tokens are written to the start of their page',
        '(head * WINDOW_TOKENS + commands[at + 1u]) * pieces',
        '(head * WINDOW_TOKENS) * pieces',
      ),
      mutant(
        'place',
        'rows of the input have one head',
        'i / pieces * tensor_heads * pieces',
        'i / pieces * pieces',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/import-table.wgsl',
    tests: ['device-imports.test.ts', 'device-faults.test.ts'],
    mutants: [
      mutant(
        'place',
        'tokens of later batches lie beyond their batch',
        '(token % perBatch) * commands[table + 8u]',
        'token * commands[table + 8u]',
      ),
      mutant(
        'place',
        'the second of two bad elements is called the first',
        'atomicMin(&flags[flag], element + 1u);',
        'atomicMin(&flags[flag], element);',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/import.wgsl',
    tests: ['device-imports.test.ts'],
    mutants: [mutant('choice', 'f16 is read as bf16', 'kind == KIND_BF16)', 'kind != KIND_BF16)')],
  },
  {
    package: where,
    file: 'shaders/element-hybrid.wgsl',
    tests: [GROUPS],
    mutants: [
      mutant('sign', 'the mark of a group is read the other way round', '!= 0u)', '== 0u)'),
    ],
  },
  {
    package: where,
    file: 'shaders/element-levels.wgsl',
    tests: [PARAMETERS],
    mutants: [
      mutant(
        'sign',
        'zeros are taken away',
        'value += tensor_zero(base, entry);',
        'value -= tensor_zero(base, entry);',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/element-groups.wgsl',
    tests: [GROUPS],
    mutants: [
      mutant(
        'place',
        'groups along tokens share parameters',
        'slot / tensor_groupSize * tensor_headDim + channel',
        'slot / tensor_groupSize + channel',
      ),
      mutant(
        'place',
        'later groups of a token have the parameters of the first',
        'slot * tensor_groupsPerRow + channel / tensor_groupSize',
        'slot * tensor_groupsPerRow',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/element-parameters.wgsl',
    tests: [GROUPS],
    mutants: [
      mutant(
        'shift',
        'codes are twice as large',
        '>> (32u - tensor_bits));',
        '>> (31u - tensor_bits));',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/element-top.wgsl',
    tests: [TOP],
    mutants: [
      mutant(
        'bound',
        'only the first outlier of a token comes back',
        'entry < (slot + 1u) * tensor_topCount',
        'entry < slot * tensor_topCount + 1u',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/element-canonical.wgsl',
    tests: [GROUPS],
    mutants: [
      mutant(
        'bound',
        'a code with one bit in the next word loses it',
        'shift + tensor_bits > 32u',
        'shift + tensor_bits > 33u',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/element-bands.wgsl',
    tests: [BANDS],
    mutants: [
      mutant(
        'bound',
        'outliers of a chunk begin at its end',
        'max(chunk, 1u) - 1u',
        'max(chunk, 1u)',
      ),
      mutant(
        'shift',
        'the fifth bit of an inner code counts as the fourth',
        '(outlier >> 7u) << 4u',
        '(outlier >> 7u) << 3u',
      ),
      mutant(
        'sign',
        'a low outlier decodes on the wrong side of its threshold',
        'tensor_edge(0u) - magnitude',
        'tensor_edge(0u) + magnitude',
      ),
      mutant(
        'sign',
        'a low middle value decodes on the wrong side of its threshold',
        'tensor_edge(1u) - magnitude',
        'tensor_edge(1u) + magnitude',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/numbers.wgsl',
    tests: [
      'numbers.test.ts',
      'contract.test.ts::(ties|subnormals|zeros of both signs|up to 30000): (affine|sinks|short scales)',
      GROUPS,
      'device-imports.test.ts',
    ],
    mutants: [
      mutant('rounding', 'ties between f16 go up', '0xfffu + ((magnitude >> 13u) & 1u)', '0x1000u'),
      mutant(
        'rounding',
        'ties between codes go to the odd one',
        '&& (i32(guess) & 1) != 0',
        '&& (i32(guess) & 1) == 0',
      ),
      mutant(
        'bound',
        'scales may be subnormal',
        'clamp(magnitude, F16_SMALLEST_NORMAL, F16_LARGEST)',
        'min(magnitude, F16_LARGEST)',
      ),
      mutant(
        'bound',
        'offsets beyond f16 are infinite',
        '| min(magnitude, F16_LARGEST);',
        '| magnitude;',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/parameters.wgsl',
    tests: ['numbers.test.ts', PARAMETERS],
    mutants: [
      mutant('shift', 'E4M3 has another bias', '+ 117u) << 23u', '+ 118u) << 23u'),
      mutant(
        'sign',
        'powers of two have another bias',
        'exponent + 127, 1, 254',
        'exponent + 126, 1, 254',
      ),
      mutant('bound', 'subnormal E4M3 have a leading one', 'select(8u, 0u, field == 0u)', '8u'),
    ],
  },
  {
    package: where,
    file: 'shaders/quantize-range.wgsl',
    tests: [PARAMETERS, GROUPS],
    mutants: [
      mutant(
        'bound',
        'ranges reach to 0',
        'select(value, min(minimum, value), some)',
        'min(minimum, value)',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/quantize-levels.wgsl',
    tests: [PARAMETERS],
    mutants: [
      mutant('bound', 'the search of a level misses by one', 'code + step - 1u;', 'code + step;'),
    ],
  },
  {
    package: where,
    file: 'shaders/pack-top.wgsl',
    tests: [TOP],
    mutants: [
      mutant(
        'bound',
        'a token has an outlier too many',
        'before < tensor_topCount',
        'before <= tensor_topCount',
      ),
    ],
  },
  {
    package: where,
    file: 'shaders/statistics.wgsl',
    tests: [TRANSFORMS],
    mutants: [
      mutant(
        'place',
        'odd channels have the statistics of even ones',
        '(statistic_bits[2u * pair + 1u] << 16u)',
        '(statistic_bits[2u * pair] << 16u)',
      ),
    ],
  },
];
