/**
 * Structs of kernels/general-*.cuh, as bytes. A test compiles those headers and compares.
 */

/** Offsets of 4-byte fields that follow one another from `first` on. */
function words<const Names extends readonly string[]>(
  first: number,
  names: Names,
): Readonly<Record<Names[number], number>> {
  return Object.fromEntries(names.map((name, i) => [name, first + 4 * i])) as Record<
    Names[number],
    number
  >;
}

/** One transform of a tensor. */
export const GENERAL_TRANSFORM = {
  bytes: 40,
  fields: {
    ...words(0, ['kind', 'plane', 'packing', 'attention', 'rule', 'limit']),
    lowest: 24,
    highest: 32,
  },
} as const;

/** A tensor plan. */
export const GENERAL_TENSOR = {
  bytes: 224,
  fields: {
    table: 0,
    ...words(8, [
      'heads',
      'headDim',
      'bits',
      'blockTokens',
      'pageBytes',
      'headBytes',
      'rowBytes',
      'rowsAreChannels',
      'tokensPerGroup',
      'channelsPerGroup',
      'parametersShared',
      'mode',
      'codes',
      'largestCode',
      'tieAsymmetric',
      'scaleType',
      'zeroType',
      'scaleOffset',
      'zeroOffset',
      'rangeStep',
      'extentStep',
      'topExponent',
      'levelScale',
      'levelCount',
      'levels',
      'middles',
      'midRise',
      'middleOffset',
      'middleStepOffset',
      'outerMinimumOffset',
      'outerStepOffset',
      'innerMinimumOffset',
      'innerStepOffset',
      'outerLow',
      'innerLow',
      'innerHigh',
      'outerHigh',
      'endsOffset',
      'endBytes',
      'chunks',
      'outliersOffset',
      'capacity',
      'topCount',
      'topValuesOffset',
      'topChannelsOffset',
      'topChannelBytes',
      'transformCount',
      'rotationFactor',
      'rotaryPairs',
      'rotaryAdjacent',
      'frequencies',
      'codec',
      'outlierOrder',
    ]),
  },
} as const;

/** What attention over two tensors is launched with, kernels/general-attention.cuh. */
export const GENERAL_ATTENTION = {
  bytes: 2 * GENERAL_TENSOR.bytes + 4 * 32,
  fields: {
    key: 0,
    value: GENERAL_TENSOR.bytes,
    ...words(2 * GENERAL_TENSOR.bytes, [
      'groupHeads',
      'blockHeads',
      'keyQuads',
      'valueQuads',
      'tileQuads',
      'sliceBits',
      'sliceQuads',
      'partBits',
      'kinds',
      'queriesTurn',
      'keyPlanes',
      'valuePlanes',
      'queries',
      'turned',
      'added',
      'tile',
      'scratch',
      'dots',
      'logits',
      'weights',
      'sums',
      'weightSums',
      'largest',
      'raised',
      'decay',
      'keyLevels',
      'valueLevels',
      'keyPlaces',
      'valuePlaces',
      'positions',
      'isLast',
      'sharedBytes',
    ]),
  },
} as const;

/** What a launch of the kernels that pack reads and writes. */
export const GENERAL_JOB = {
  bytes: 320,
  fields: {
    /** PackJob of kernels/pack-commands.cuh. */
    commands: 0,
    tensor: 48,
    scratch: 272,
    fault: 280,
    ...words(288, [
      'faultNumber',
      'firstPack',
      'runTokens',
      'runs',
      'tileHeads',
      'tileWords',
      'transforms',
      'unused',
    ]),
  },
} as const;

/** Of kernels/general-pack.cuh. */
export const GENERAL_PACK_KERNELS = [
  'general_pack',
  'general_outliers',
  'general_gather',
  'general_measure',
] as const;
/** Of kernels/general-attend.cuh. */
export const GENERAL_ATTEND_KERNEL = 'general_attend';

/** As the enumerations of the header: the number of a word is its place. */
export const GENERAL_MODES = [
  'asymmetric',
  'symmetric',
  'hybrid',
  'levels',
  'levelsOverZero',
  'bands',
  'codec',
] as const;
export const OUTLIER_ORDERS = ['bytes', 'key', 'value'] as const;
export const GENERAL_CODES = ['signmag', 'full', 'fullSigned'] as const;
export const LEVEL_SCALES = ['none', 'absoluteMaximum', 'rootMeanSquare'] as const;
export const STORED_TYPES = ['none', 'f16', 'f32', 'e4m3', 'e8m0'] as const;
export const TRANSFORM_KINDS = ['scale', 'mean', 'hadamard', 'order'] as const;
export const MEASURE_RULES = ['none', 'tensorScale', 'channelScale', 'channelMean'] as const;
/** Of a transform that takes nothing from statistics pages. */
export const NO_PLANE = 0xffffffff;
