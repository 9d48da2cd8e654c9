/**
 * Pages of one tensor to f32 tokens, before the inverse transforms: value = scale * level(code) + zero, each operation in
 * f32.
 */
import {
  type BlockLayout,
  PARAMETER_BYTES,
  type ParameterName,
  type Quantizer,
} from '@lowbit-kv/core';
import { hasBands, type PackedPlan } from '../packed-plan.js';
import type { Value } from './builder.js';
import { decodeBands } from './dequantize-bands.js';
import type { Operations } from './operations.js';
import { isNegative, magnitudeBits, parameterValues } from './parameter-values.js';
import { restoreOutliers } from './top-outliers.js';
import { headBlocks, numbersAt, unpackCodes } from './unpack.js';

/** What the caller wants the last two axes to be: keys are multiplied from the channels, values from the tokens. */
export type Order = 'channels,tokens' | 'tokens,channels';

/** The page inputs of one tensor and their f32 values `[heads, ...order]` over all slots of all pages. */
export function dequantizePages(o: Operations, plan: PackedPlan, order: Order): Value {
  const { layout, tensor } = plan;
  if (plan.codec !== undefined) return decodedInput(o, plan, order);
  const pages = o.graph.input(
    `${tensor}_pages`,
    'uint8',
    [`${tensor}_pages`, layout.pageBytes],
    'Canonical blocks.',
  );
  const blocks = headBlocks(o, pages, layout);
  const codes = codesOf(o, blocks, layout);
  if (hasBands(plan)) return flatten(o, decodeBands(o, plan, pages, blocks, codes), layout, order);
  const decode = layout.codes.rows === 'channels' ? decodeAlongTokens : decodeAlongChannels;
  const decoded = decode(o, plan, blocks, codes);
  const { top } = layout;
  const values = top === undefined ? decoded : restoreOutliers(o, plan, top, blocks, decoded);
  return flatten(o, values, layout, order);
}

/** What the codec of a tensor makes of its pages, on the host. */
function decodedInput(o: Operations, { tensor, layout }: PackedPlan, order: Order): Value {
  const { heads, headDim } = layout;
  const slots = `${tensor}_slots`;
  const what = 'Packed tokens, decoded by their codec.';
  const decoded = o.graph.input(`${tensor}_decoded`, 'float32', [heads, slots, headDim], what);
  return order === 'tokens,channels' ? decoded : o.transpose(decoded, [0, 2, 1]);
}

/** f32 `[blocks, heads, rows, codes]`. */
function codesOf(o: Operations, blocks: Value, layout: BlockLayout): Value {
  const { heads, codes, bits, blockTokens, headDim } = layout;
  const bytes = o.slice(blocks, 2, codes.offset, codes.offset + codes.rowCount * codes.rowBytes);
  const rows = o.reshape(bytes, [0, heads, codes.rowCount, codes.rowBytes]);
  const count = codes.rows === 'channels' ? blockTokens : headDim;
  return unpackCodes(o, rows, { ...codes, heads }, count, bits);
}

/** `[blocks, heads, channels, tokens]` from groups along tokens; parameters lie `[group, channel]`. */
function decodeAlongTokens(o: Operations, plan: PackedPlan, blocks: Value, codes: Value): Value {
  const { heads, headDim, blockTokens, tokensPerGroup: size } = plan.layout;
  const groups = blockTokens / size;
  const beside = (bits: Value) =>
    o.transpose(o.reshape(bits, [0, heads, groups, headDim, 1]), [0, 1, 3, 2, 4]);
  const values = applyParameters(
    o,
    plan,
    o.reshape(codes, [0, heads, headDim, groups, size]),
    (name) => beside(parameterBits(o, plan.layout, blocks, name)),
  );
  return o.reshape(values, [0, heads, headDim, blockTokens]);
}

/** `[blocks, heads, tokens, channels]` from groups along channels; parameters lie `[token, group]`. */
function decodeAlongChannels(o: Operations, plan: PackedPlan, blocks: Value, codes: Value): Value {
  const { heads, headDim, blockTokens, channelsPerGroup: size } = plan.layout;
  const groups = headDim / size;
  const values = applyParameters(
    o,
    plan,
    o.reshape(codes, [0, heads, blockTokens, groups, size]),
    (name) =>
      o.reshape(parameterBits(o, plan.layout, blocks, name), [0, heads, blockTokens, groups, 1]),
  );
  return o.reshape(values, [0, heads, blockTokens, headDim]);
}

/** Codes with groups along the last axis, parameters (int32 patterns) with a last axis of 1. */
function applyParameters(
  o: Operations,
  plan: PackedPlan,
  codes: Value,
  bitsOf: (name: ParameterName) => Value,
): Value {
  const { quantizer, bits, parameters } = plan.scheme;
  const { scale, zero } = parameters;
  const addZero = (product: Value) =>
    zero === undefined ? product : o.add(product, parameterValues(o, zero, bitsOf('zero')));
  if (quantizer.mode === 'hybrid')
    return addZero(hybridProducts(o, codes, bits, scale as 'f16' | 'f32', bitsOf('scale')));
  const levels = levelsOf(o, codes, quantizer, bits);
  if (scale === undefined) return levels;
  return addZero(o.multiply(levels, parameterValues(o, scale, bitsOf('scale'))));
}

/** f32 levels of f32 codes. */
function levelsOf(
  o: Operations,
  codes: Value,
  { mode, codes: set }: Quantizer,
  bits: number,
): Value {
  if (typeof set === 'object') {
    const table = o.graph.constant('float32', (set.levels as readonly number[]).map(Math.fround));
    return o.gather(table, o.cast(codes, 'int32'), 0);
  }
  return mode === 'asymmetric' ? codes : o.subtract(codes, wrapped(o, codes, bits, 2 ** bits));
}

/** `turn` where the upper half of the codes stands for the negative levels of two's complement, else 0. */
function wrapped(o: Operations, codes: Value, bits: number, turn: Value | number): Value {
  return o.multiply(o.cast(o.atLeast(codes, 2 ** (bits - 1)), 'float32'), turn);
}

/** Two's complement or unsigned codes, by the sign bit of the scale, times its magnitude. */
function hybridProducts(
  o: Operations,
  codes: Value,
  bits: number,
  type: 'f16' | 'f32',
  scaleBits: Value,
): Value {
  const turn = o.select(
    isNegative(o, type, scaleBits),
    o.scalar('float32', 0),
    o.scalar('float32', 2 ** bits),
  );
  const levels = o.subtract(codes, wrapped(o, codes, bits, turn));
  return o.multiply(levels, parameterValues(o, type, magnitudeBits(o, type, scaleBits)));
}

/** int32 patterns `[blocks, heads, entries]` of one parameter plane. */
function parameterBits(
  o: Operations,
  layout: BlockLayout,
  blocks: Value,
  name: ParameterName,
): Value {
  const plane = layout.parameters.find((parameter) => parameter.name === name);
  if (plane === undefined) throw new TypeError(`no ${name} plane in this layout`);
  const { offset, count, type } = plane;
  const bytes = PARAMETER_BYTES[type];
  return numbersAt(o, blocks, { offset, count, bytes, vectors: layout.heads });
}

/** Joins the tokens of all blocks: `[heads, channels, tokens]` or `[heads, tokens, channels]`. */
function flatten(o: Operations, values: Value, layout: BlockLayout, order: Order): Value {
  const { heads, headDim } = layout;
  const channelsFirst = layout.codes.rows === 'channels';
  if (order === 'channels,tokens') {
    const moved = o.transpose(values, channelsFirst ? [1, 2, 0, 3] : [1, 3, 0, 2]);
    return o.reshape(moved, [heads, headDim, -1]);
  }
  const moved = o.transpose(values, channelsFirst ? [1, 0, 3, 2] : [1, 0, 2, 3]);
  return o.reshape(moved, [heads, -1, headDim]);
}
