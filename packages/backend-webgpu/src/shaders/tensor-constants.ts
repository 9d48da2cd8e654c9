/**
 * The numbers of a tensor plan that its shaders are specialised by.
 */
import type {
  BlockLayout,
  ParameterName,
  ParameterType,
  QuantizedTensorScheme,
  TensorPlan,
} from '@lowbit-kv/core';
import { type CodeOrder, fieldCodes, meetsSigned } from './code-order.js';
import type { Constant, Constants } from './compose.js';
import { groupSize } from './group-size.js';
import { levelsOf, type TensorNumbers, tableOf } from './tensor-numbers.js';

const WIDTH: Readonly<Record<ParameterType, number>> = { f16: 16, f32: 32, e4m3: 8, e8m0: 8 };
const SIGN: Readonly<Record<ParameterType, number>> = {
  f16: 0x8000,
  f32: 0x80000000,
  e4m3: 0,
  e8m0: 0,
};

/** Constants named `${prefix}headDim` and so on. */
export function tensorConstants(
  plan: TensorPlan,
  numbers: TensorNumbers,
  order: CodeOrder,
  prefix: string,
): Constants {
  const { layout, scheme, heads, headDim } = plan;
  const constants: Record<string, Constant> = {
    heads,
    headDim,
    rotationFactor: { f32: 1 / Math.sqrt(headDim) },
  };
  if (layout !== null && scheme.bits !== 16) {
    Object.assign(constants, layoutConstants(plan, layout), parameterConstants(scheme, layout));
    Object.assign(constants, outlierConstants(plan, layout, numbers, order));
    if (order === 'reduction') Object.assign(constants, reductionConstants(plan, layout));
    Object.assign(constants, quantizerConstants(scheme), levelConstants(plan, numbers));
  }
  return Object.fromEntries(
    Object.entries(constants).map(([name, value]) => [prefix + name, value]),
  );
}

function layoutConstants(plan: TensorPlan, layout: BlockLayout): Record<string, Constant> {
  return {
    bits: layout.bits,
    codeMask: 2 ** layout.bits - 1,
    alongTokens: layout.tokensPerGroup > 1,
    groupSize: groupSize(plan),
    groupBytes: layout.codes.rowBytes,
    groupsPerRow: layout.headDim / layout.channelsPerGroup,
    rowWords: layout.codes.rowBytes / 4,
    headWords: layout.headBytes / 4,
  };
}

function parameterConstants(
  { parameters }: QuantizedTensorScheme,
  layout: BlockLayout,
): Record<string, Constant> {
  const planeOf = (name: ParameterName) => layout.parameters.find((plane) => plane.name === name);
  const [scale, zero] = [planeOf('scale'), planeOf('zero')];
  const type = parameters.scale ?? 'f16';
  const width = WIDTH[type];
  return {
    hasScale: scale !== undefined,
    scaleWord: (scale?.offset ?? 0) / 4,
    scaleWidth: width,
    scaleSign: SIGN[type],
    scaleMagnitude: 2 ** width - 1 - SIGN[type],
    hasZero: zero !== undefined,
    zeroWord: (zero?.offset ?? 0) / 4,
    zeroWidth: WIDTH[parameters.zero ?? 'f16'],
  };
}

/** See bands.wgsl, pack-outliers.wgsl and pack-top.wgsl. */
function outlierConstants(
  { scheme }: TensorPlan,
  layout: BlockLayout,
  numbers: TensorNumbers,
  order: CodeOrder,
): Record<string, Constant> {
  const { sparse, top, parametersShared, heads, headDim } = layout;
  if (top !== undefined) {
    return {
      topCount: top.count,
      topValuesWord: top.values.offset / 4,
      topChannelsWord: top.channels.offset / 4,
      topChannelWidth: 8 * top.channels.entryBytes,
    };
  }
  if (sparse === null || scheme.bits === 16) return {};
  const planes = Object.fromEntries(
    layout.parameters.map(({ name, offset }) => [`${name}Word`, offset / 4]),
  );
  return {
    ...planes,
    middleWord: (planes.middleMaximumWord ?? planes.middleMinimumWord) as number,
    middleStepWord: planes.middleStepWord ?? 0,
    midRise: scheme.quantizer.codes === 'midRise',
    rises: order === 'reduction',
    sharedParameters: parametersShared,
    vectorSize: parametersShared ? heads * headDim : headDim,
    edgesWord: numbers.edges,
    endsWord: sparse.endOffsets.offset / 4,
    endWidth: 8 * sparse.endOffsets.entryBytes,
    outliersWord: sparse.entries.offset / 4,
    capacity: sparse.entries.capacity,
  };
}

/** Codes are what scales are measured by: see quantize-range.wgsl and quantize-symmetric.wgsl. */
function quantizerConstants({ bits, quantizer }: QuantizedTensorScheme): Record<string, Constant> {
  const hybrid = quantizer.mode === 'hybrid';
  const half = 2 ** (bits - 1);
  const top = quantizer.codes === 'signmag' ? half - 1 : half;
  const rangeTop = 2 ** (hybrid ? quantizer.asymmetricBits : bits) - 1;
  return {
    rangeTop: { f32: rangeTop },
    rangeStep: { f32: 1 / rangeTop },
    symmetricStep: { f32: 1 / top },
    lowestCode: { f32: quantizer.codes === 'signmag' ? 1 - half : -half },
    highestCode: { f32: half - 1 },
    signedScale: quantizer.codes === 'fullSigned',
    tieAsymmetric: hybrid && quantizer.tie === 'asymmetric',
    topExponent: { i32: exponentOf(top) },
  };
}

/** Replaces what tables measure scales by. */
function levelConstants(plan: TensorPlan, numbers: TensorNumbers): Record<string, Constant> {
  const table = tableOf(plan);
  if (table === null) return {};
  const levels = levelsOf(table);
  const last = levels.at(-1) as number;
  const top = Math.max(-(levels[0] as number), last);
  return {
    levelsWord: numbers.levels,
    middlesWord: numbers.middles,
    sharesWord: numbers.shares,
    middleCount: levels.length - 1,
    firstStep: 2 ** (Math.ceil(Math.log2(levels.length)) - 1),
    symmetricStep: { f32: 1 / top },
    rangeStep: { f32: 1 / last },
    topExponent: { i32: exponentOf(top) },
  };
}

/** floor(log2 value) of the f32 nearest to a positive number. */
function exponentOf(value: number): number {
  const [bits] = new Uint32Array(Float32Array.of(value).buffer) as unknown as [number];
  return bits >>> 23 === 0 ? -118 - Math.clz32(bits) : (bits >>> 23) - 127;
}

/** See code-places-reduction.wgsl and integer-codes.wgsl. */
function reductionConstants(plan: TensorPlan, layout: BlockLayout): Record<string, Constant> {
  const { topFlip, lowFlip, topOffset, lowOffset } = fieldCodes(plan);
  const isKey = plan.tensor === 'key';
  const signed = meetsSigned(plan);
  const alongTokens = layout.codes.rows === 'channels';
  const sets =
    alongTokens === isKey
      ? alongTokens
        ? layout.blockTokens / layout.tokensPerGroup
        : layout.headDim / layout.channelsPerGroup
      : 1;
  // Of 1.5 * 2^23 and of 2^23: sums of signed products go both ways.
  const sumZero = signed ? 0x4b400000 : 0x4b000000;
  return {
    reducesTokens: !isKey,
    otherCount: isKey ? layout.blockTokens : layout.headDim,
    topFlip,
    lowFlip,
    topOffset: { f32: topOffset },
    lowOffset: { f32: lowOffset },
    half: { f32: 2 ** (layout.bits - 1) },
    signed,
    sumZero: { i32: sumZero },
    numberZero: { f32: signed ? 1.5 * 2 ** 23 : 2 ** 23 },
    sets,
  };
}
