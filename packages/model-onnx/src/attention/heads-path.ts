/**
 * The way back from heads that attention reads to where they were made, through nodes that move or scale them alone.
 */
import type { NodeProto } from 'onnx-buf';
import { intAttribute, intsAttribute } from './attributes.js';
import type { GraphView } from './graph-view.js';
import type { HeadsValue } from './site.js';
import { StaticShapes } from './static-shape.js';

/** What an axis counts. `width` is heads and channels in one. */
export type Axis = 'batch' | 'heads' | 'tokens' | 'channels' | 'width';

export const HEADS_FIRST: readonly Axis[] = ['batch', 'heads', 'tokens', 'channels'];
const TOKENS_FIRST: readonly Axis[] = ['batch', 'tokens', 'heads', 'channels'];
const ROWS: readonly Axis[] = ['batch', 'tokens', 'width'];

/** A value on the way; what attention reads is `factor` times it. */
export interface HeadsPoint {
  readonly name: string;
  readonly axes: readonly Axis[];
  readonly factor: number;
}

/** Null where the axes are in an order that a site cannot say. */
export function layoutOf(axes: readonly Axis[]): 'rows' | 'headsFirst' | 'tokensFirst' | null {
  const text = axes.join();
  if (text === ROWS.join()) return 'rows';
  if (text === HEADS_FIRST.join()) return 'headsFirst';
  return text === TOKENS_FIRST.join() ? 'tokensFirst' : null;
}

export function axesOfLayout(layout: HeadsValue['layout']): readonly Axis[] | null {
  if (layout === 'rows') return ROWS;
  if (layout === 'parts') return null;
  return layout === 'headsFirst' ? HEADS_FIRST : TOKENS_FIRST;
}

/** One node back; null where the node does more than move or scale, or nothing made the value. */
export function stepBack(view: GraphView, point: HeadsPoint): HeadsPoint | null {
  const node = view.producer(point.name);
  if (node === null) return null;
  const [input = ''] = node.input;
  switch (node.opType) {
    case 'Identity':
    case 'Dropout':
    case 'Cast':
      return { ...point, name: input };
    case 'Slice':
      return takesAll(view, node) ? { ...point, name: input } : null;
    case 'Transpose':
      return transposeBack(point, node, input);
    case 'Reshape':
      return reshapeBack(StaticShapes.of(view), point, input);
    case 'Mul':
    case 'Div': {
      const scaled = scaledOperand(view, node);
      return scaled && { ...point, name: scaled.name, factor: point.factor * scaled.factor };
    }
    default:
      return null;
  }
}

/** The operand of a Mul or Div that is scaled by a number; null when neither is a number. */
export function scaledOperand(
  view: GraphView,
  node: NodeProto,
): { readonly name: string; readonly factor: number } | null {
  const [left = '', right = ''] = node.input;
  const shapes = StaticShapes.of(view);
  const by = shapes.number(right);
  if (by !== null) return { name: left, factor: node.opType === 'Div' ? 1 / by : by };
  const times = node.opType === 'Mul' ? shapes.number(left) : null;
  return times === null ? null : { name: right, factor: times };
}

/** Ends from here on are beyond every axis: exporters write 2^31 - 1 or 2^63 - 1. */
const BEYOND = 2 ** 31 - 1;

/** Whether a Slice leaves nothing out, as those that exporters write for a full range of an axis. */
function takesAll(view: GraphView, node: NodeProto): boolean {
  const [, first, end, , steps] = node.input;
  const every = (name: string | undefined, test: (value: number) => boolean) =>
    view.numbers(name ?? '')?.every(test) ?? false;
  return (
    every(first, (value) => value === 0) &&
    every(end, (value) => value >= BEYOND) &&
    (!steps || every(steps, (value) => value === 1))
  );
}

/** What a value is but for such slices. */
function unsliced(view: GraphView, name: string): string {
  const node = view.producer(name);
  const plain = node?.opType === 'Slice' && takesAll(view, node);
  return plain ? unsliced(view, node.input[0] ?? '') : name;
}

function transposeBack(point: HeadsPoint, node: NodeProto, input: string): HeadsPoint | null {
  const perm = intsAttribute(node, 'perm');
  if (perm === null || perm.length !== point.axes.length) return null;
  const axes: Axis[] = [];
  for (const [i, source] of perm.entries()) axes[source] = point.axes[i] ?? 'batch';
  return { ...point, name: input, axes };
}

/** Rows split into heads, or heads joined to rows. */
function reshapeBack(shapes: StaticShapes, point: HeadsPoint, input: string): HeadsPoint | null {
  const rank = shapes.dims(input)?.length;
  const layout = layoutOf(point.axes);
  if (layout === 'tokensFirst' && rank === 3) return { ...point, name: input, axes: ROWS };
  if (layout === 'rows' && rank === 4) return { ...point, name: input, axes: TOKENS_FIRST };
  return null;
}

/**
 * Back over heads that were repeated for the query heads of their group, in the way that neighbours share one: a new axis
 * behind the heads that is expanded or tiled and joined with them, or a Gather. Null where there is no such repeat.
 */
export function beforeRepeat(view: GraphView, point: HeadsPoint): HeadsPoint | null {
  const node = view.producer(point.name);
  const heads = point.axes.indexOf('heads');
  if (node === null || heads < 0) return null;
  const shapes = StaticShapes.of(view);
  const [input = ''] = node.input;
  if (node.opType === 'Gather')
    return gatheredHeads(view, node, heads) ? { ...point, name: input } : null;
  const single = (name: string) => shapes.dims(name)?.[heads] === 1;
  const several = node.opType === 'Expand' || node.opType === 'Tile';
  if (several && single(input)) return { ...point, name: input };
  if (node.opType !== 'Reshape') return null;
  const wide = view.producer(input);
  if (wide === null || !/^(Expand|Tile)$/.test(wide.opType)) return null;
  const narrow = unsliced(view, wide.input[0] ?? '');
  const dims = shapes.dims(narrow);
  if (dims?.length !== point.axes.length + 1 || dims[heads + 1] !== 1) return null;
  // Tiled heads would come as 0 1 0 1: a group has neighbours.
  if (wide.opType === 'Tile' && shapes.dims(input)?.[heads] !== dims[heads]) return null;
  const split = view.producer(narrow);
  if (split === null || !/^(Unsqueeze|Reshape)$/.test(split.opType)) return null;
  return { ...point, name: split.input[0] ?? '' };
}

/** Whether a Gather takes every kv head for a group of neighbours. */
function gatheredHeads(view: GraphView, node: NodeProto, axis: number): boolean {
  if (intAttribute(node, 'axis', 0) !== axis) return false;
  const indices = view.numbers(node.input[1] ?? '');
  const count = StaticShapes.of(view).dims(node.input[0] ?? '')?.[axis];
  if (indices === null || count == null) return false;
  const group = indices.length / count;
  return Number.isInteger(group) && indices.every((index, i) => index === Math.floor(i / group));
}
