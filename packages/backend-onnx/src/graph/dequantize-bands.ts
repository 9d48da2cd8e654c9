/**
 * Blocks with outlier bands to f32: every element is decoded as middle, and the sparse list says which ones are outer or
 * inner instead.
 */
import { type BlockLayout, OUTLIER_CHUNK, type SparsePlane } from '@lowbit-kv/core';
import type { PackedPlan } from '../packed-plan.js';
import type { ElementType, Value } from './builder.js';
import { type BandEdges, bandEdges } from './encode-bands.js';
import type { Operations } from './operations.js';
import { parameterValues } from './parameter-values.js';
import { numbersAt } from './unpack.js';

/** f32 `[blocks, heads, tokens, channels]` from pages, their head blocks and unpacked nibbles (f32). */
export function decodeBands(
  o: Operations,
  plan: PackedPlan,
  pages: Value,
  blocks: Value,
  levels: Value,
): Value {
  const { layout, tensor, scheme } = plan;
  const thresholds = o.graph.input(
    `${tensor}_thresholds`,
    'float32',
    [4],
    'Band edges: outerLow, outerHigh, innerLow, innerHigh.',
  );
  const edges = bandEdges(o, thresholds);
  const parameter = (name: string) => bandParameter(o, layout, pages, blocks, name);

  const marks = o.cast(outlierMarks(o, plan, blocks), 'int32');
  const isOuter = o.greater(o.bitAnd(marks, 64), 0);
  const isInner = o.and(o.greater(marks, 0), o.not(isOuter));
  const fifth = o.greater(o.bitAnd(marks, 128), 0);

  const middle =
    scheme.quantizer.codes === 'midRise'
      ? decodeMidRise(o, levels, parameter('middleMaximum'), edges)
      : decodeShifted(o, levels, parameter('middleMinimum'), parameter('middleStep'), edges);
  const magnitude = affine(o, levels, parameter('outerMinimum'), parameter('outerStep'));
  const outer = o.select(
    fifth,
    o.subtract(edges.outerLow, magnitude),
    o.add(edges.outerHigh, magnitude),
  );
  const code = o.add(levels, o.multiply(o.cast(fifth, 'float32'), 16));
  const inner = affine(o, code, parameter('innerMinimum'), parameter('innerStep'));
  return o.select(isOuter, outer, o.select(isInner, inner, middle));
}

function affine(o: Operations, levels: Value, minimum: Value, step: Value): Value {
  return o.add(o.multiply(levels, step), minimum);
}

/** The middle of a cell: M/16 (2 cell + 1) from the threshold; bit 3 is the low side. */
function decodeMidRise(o: Operations, levels: Value, maximum: Value, edges: BandEdges): Value {
  const low = o.atLeast(levels, 8);
  const cell = o.select(low, o.subtract(levels, 8), levels);
  const odd = o.add(o.multiply(cell, 2), 1);
  const magnitude = o.multiply(odd, o.multiply(maximum, 1 / 16));
  return o.select(low, o.subtract(edges.innerLow, magnitude), o.add(edges.innerHigh, magnitude));
}

/** Below zero is the low side. */
function decodeShifted(
  o: Operations,
  levels: Value,
  minimum: Value,
  step: Value,
  edges: BandEdges,
): Value {
  const shift = affine(o, levels, minimum, step);
  return o.add(o.select(o.less(shift, 0), edges.innerLow, edges.innerHigh), shift);
}

/** f32 `[blocks, heads or 1, tokens, 1]`. */
function bandParameter(
  o: Operations,
  layout: BlockLayout,
  pages: Value,
  blocks: Value,
  name: string,
): Value {
  const plane = layout.parameters.find((entry) => entry.name === name);
  if (plane === undefined) throw new TypeError(`no ${name} plane in this layout`);
  const { heads, headBytes, parametersShared, pageBytes, blockTokens } = layout;
  const vectors = parametersShared ? 1 : heads;
  const source = parametersShared
    ? o.reshape(o.slice(pages, 1, heads * headBytes, pageBytes), [0, 1, layout.sharedBytes])
    : blocks;
  const { offset, count } = plane;
  const bits = numbersAt(o, source, { offset, count, bytes: 2, vectors });
  return o.reshape(parameterValues(o, 'f16', bits), [0, vectors, blockTokens, 1]);
}

/**
 * uint8 `[blocks, heads, tokens, channels]`: 0 for middle elements, else outer << 6 | fifth bit << 7 | 1.
 *
 * The list of a head holds the entries of its (token, chunk) pairs one after another; an entry belongs to the pair whose
 * number is the count of end offsets at or before it.
 */
function outlierMarks(o: Operations, plan: PackedPlan, blocks: Value): Value {
  const { layout, tensor } = plan;
  const { heads, headDim, blockTokens } = layout;
  const { endOffsets, entries } = layout.sparse as SparsePlane;
  const { chunks } = endOffsets;
  const { capacity } = entries;
  const pairs = blockTokens * chunks;
  const validTokens = o.graph.input(
    `${tensor}_valid_tokens`,
    'int32',
    [`${tensor}_pages`],
    'Tokens that each page holds from its first slot on.',
  );
  const validPairs = o.reshape(o.multiply(validTokens, chunks), [-1, 1, 1]);
  const ends = numbersAt(o, blocks, {
    offset: endOffsets.offset,
    count: pairs,
    bytes: endOffsets.entryBytes,
    vectors: heads,
  });
  // End offsets of slots without a token end nothing: they go behind the list.
  const pairNumbers = o.graph.constant(
    'int32',
    Array.from({ length: pairs }, (_, i) => i),
    [1, 1, pairs],
  );
  const counted = o.select(o.less(pairNumbers, validPairs), ends, capacity);
  const zeros = filled(o, 'int32', 0, leadingDims(o, blocks, capacity + 1));
  const ones = filled(o, 'int32', 1, o.graph.node('Shape', 'int64', [ends]));
  const endings = o.graph.node('ScatterElements', 'int32', [zeros, counted, ones], {
    axis: 2,
    reduction: 'add',
  });
  const running = o.graph.node('CumSum', 'int32', [endings, o.scalar('int64', 2)]);
  const pair = o.slice(running, 2, 0, capacity);

  const bytes = o.slice(blocks, 2, entries.offset, entries.offset + capacity);
  const wide = o.cast(bytes, 'int32');
  const token = o.divide(pair, chunks);
  const chunk = o.subtract(pair, o.multiply(token, chunks));
  const channel = o.add(o.multiply(chunk, OUTLIER_CHUNK), o.bitAnd(wide, 63));
  // Room that no entry uses writes into one element behind the tokens.
  const behind = blockTokens * headDim;
  const place = o.add(o.multiply(token, headDim), channel);
  const target = o.select(o.less(pair, validPairs), place, behind);
  const flags = o.cast(o.add(o.bitAnd(wide, 192), 1), 'uint8');
  const empty = filled(o, 'uint8', 0, leadingDims(o, blocks, behind + 1));
  const marks = o.graph.node('ScatterElements', 'uint8', [empty, target, flags], { axis: 2 });
  return o.reshape(o.slice(marks, 2, 0, behind), [0, heads, blockTokens, headDim]);
}

function filled(o: Operations, type: ElementType, value: number, shape: Value): Value {
  return o.graph.node('Expand', type, [o.scalar(type, value), shape]);
}

/** The shape `[blocks, heads, last]`. */
function leadingDims(o: Operations, blocks: Value, last: number): Value {
  const shape = o.graph.node('Shape', 'int64', [blocks]);
  return o.concat([o.slice(shape, 0, 0, 2), o.graph.constant('int64', [last])], 0);
}
