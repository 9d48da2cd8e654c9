/**
 * The numbers of a tensor plan that its shaders are specialised by.
 */
import type { BlockLayout, LevelTable, ParameterName, TensorPlan } from '@lowbit-kv/core';
import { type CodeOrder, linearCodes } from './code-order.js';
import type { Constant, Constants } from './compose.js';

/** Constants named `${prefix}headDim` and so on. */
export function tensorConstants(plan: TensorPlan, order: CodeOrder, prefix: string): Constants {
  const { layout, scheme, heads, headDim } = plan;
  const constants: Record<string, Constant> = {
    heads,
    headDim,
    rotationFactor: { f32: 1 / Math.sqrt(headDim) },
  };
  if (layout !== null && scheme.bits !== 16) {
    Object.assign(constants, layoutConstants(layout));
    if (order === 'reduction') Object.assign(constants, reductionConstants(plan, layout));
    const { quantizer } = scheme;
    if (quantizer.mode === 'hybrid') {
      constants.asymmetricCodes = 2 ** quantizer.asymmetricBits;
      constants.tieAsymmetric = quantizer.tie === 'asymmetric';
    } else {
      constants.asymmetricCodes = 2 ** scheme.bits;
      constants.tieAsymmetric = false;
    }
    if (typeof quantizer.codes === 'object')
      Object.assign(constants, levelConstants(quantizer.codes, groupSize(layout)));
  }
  return Object.fromEntries(
    Object.entries(constants).map(([name, value]) => [prefix + name, value]),
  );
}

function groupSize(layout: BlockLayout): number {
  return layout.codes.rows === 'channels' ? layout.tokensPerGroup : layout.channelsPerGroup;
}

function layoutConstants(layout: BlockLayout): Record<string, Constant> {
  const word = (name: ParameterName) =>
    (layout.parameters.find((plane) => plane.name === name)?.offset ?? 0) / 4;
  return {
    bits: layout.bits,
    codeMask: 2 ** layout.bits - 1,
    alongTokens: layout.codes.rows === 'channels',
    groupSize: groupSize(layout),
    groupsPerRow: layout.headDim / layout.channelsPerGroup,
    rowWords: layout.codes.rowBytes / 4,
    headWords: layout.headBytes / 4,
    scaleWord: word('scale'),
    zeroWord: word('zero'),
    hasZero: layout.parameters.some((plane) => plane.name === 'zero'),
  };
}

/** See pack-reduction.wgsl and integer-codes.wgsl. */
function reductionConstants(plan: TensorPlan, layout: BlockLayout): Record<string, Constant> {
  const { flip, slope, offset } = linearCodes(plan);
  const field = 2 ** 8 - 2 ** (8 - layout.bits);
  const alongTokens = layout.codes.rows === 'channels';
  const sets =
    alongTokens === (plan.tensor === 'key')
      ? alongTokens
        ? layout.blockTokens / layout.tokensPerGroup
        : layout.headDim / layout.channelsPerGroup
      : 1;
  return {
    blockTokens: layout.blockTokens,
    reducesTokens: plan.tensor === 'value',
    codeFlip: flip,
    fieldMask: field * 0x01010101,
    // A field in the high bits of a byte is too large by the bits below it.
    slope: { f32: slope / 2 ** (8 - layout.bits) },
    offset: { f32: offset },
    sets,
  };
}

function levelConstants(table: LevelTable, size: number): Record<string, Constant> {
  const levels = (table.levels as readonly number[]).map(Math.fround);
  const top = Math.max(-(levels[0] as number), levels.at(-1) as number);
  return {
    levels: { f32s: levels },
    levelCount: levels.length,
    middles: {
      f32s: levels.slice(1).map((level, i) => ((levels[i] as number) + level) / 2),
    },
    levelShare: { f32: 1 / top },
    groupShare: { f32: 1 / size },
    scaledByRoot: table.scaledBy === 'rootMeanSquare',
  };
}
