/**
 * Keys and values of decomposed attention: back from the product that reads them over scales, repeats and the Concat with
 * the past, to those of the new tokens.
 */
import type { NodeProto } from 'onnx-buf';
import { intAttribute } from './attributes.js';
import type { GraphView } from './graph-view.js';
import { type Axis, beforeRepeat, type HeadsPoint, layoutOf, stepBack } from './heads-path.js';
import type { AttentionSite, HeadsValue } from './site.js';
import { StaticShapes } from './static-shape.js';

export interface CachedHeads {
  /** Of the new tokens alone. */
  readonly heads: HeadsValue;
  readonly kvHeads: number | null;
  readonly headDim: number | null;
  /** What the product reads is this times the cached heads. */
  readonly factor: number;
  readonly past: AttentionSite['past'];
}

/** `name` as a product reads it, with its axes. A reason where the way back ends at something that is not recognised. */
export function cachedHeads(
  view: GraphView,
  name: string,
  axes: readonly Axis[],
): CachedHeads | { readonly reason: string } {
  const way = wayBack(view, { name, axes, factor: 1 });
  const end = way.at(-1);
  const node = end === undefined ? null : view.producer(end.name);
  if (end === undefined || node === null || !joinsTokens(node, end.axes))
    return found(view, way, { inputs: [], outputs: [] });

  const [past = '', rows = ''] = node.input;
  const pastInput = node.input.length === 2 ? movedInput(view, past) : null;
  if (pastInput === null)
    return {
      reason: `its cache is not a past of the model and new tokens behind it (${node.name})`,
    };
  const heads = found(view, newHeads(view, { ...end, name: rows, factor: 1 }), {
    inputs: [pastInput],
    outputs: movedOutputs(view, node.output[0] ?? ''),
  });
  return 'reason' in heads ? heads : { ...heads, factor: end.factor };
}

/** What is put behind the past, and what it is a Transpose of. */
function newHeads(view: GraphView, rows: HeadsPoint): HeadsPoint[] {
  const before = view.producer(rows.name)?.opType === 'Transpose' ? stepBack(view, rows) : null;
  return before === null ? [rows] : [rows, before];
}

/** The nearest point of the way whose axes a site can say. */
function found(
  view: GraphView,
  way: readonly HeadsPoint[],
  past: AttentionSite['past'],
): CachedHeads | { readonly reason: string } {
  for (const { name, axes, factor } of way) {
    const layout = layoutOf(axes);
    if (layout === null || layout === 'rows') continue;
    const dims = StaticShapes.of(view).dims(name);
    if (dims !== null && dims.length !== axes.length) break;
    const size = (axis: Axis) => dims?.[axes.indexOf(axis)] ?? null;
    const numbers = { kvHeads: size('heads'), headDim: size('channels') };
    return { heads: { name, layout }, ...numbers, factor, past };
  }
  return { reason: 'its heads have no four axes in a known order' };
}

/** From the last repeat on, or from the value itself where heads are not repeated. */
function wayBack(view: GraphView, from: HeadsPoint): HeadsPoint[] {
  let way = [from];
  for (let point: HeadsPoint | null = from; point !== null; ) {
    const single = beforeRepeat(view, point);
    point = single ?? stepBack(view, point);
    if (single !== null) way = [];
    if (point !== null) way.push(point);
  }
  return way;
}

function joinsTokens(node: NodeProto, axes: readonly Axis[]): boolean {
  if (node.opType !== 'Concat') return false;
  const axis = intAttribute(node, 'axis', 0);
  return axes.at(axis) === 'tokens';
}

const MOVING = new Set(['Identity', 'Cast', 'Transpose']);

/** The graph input that a value is, moved at most. */
function movedInput(view: GraphView, name: string): string | null {
  if (view.isGraphInput(name)) return name;
  const node = view.producer(name);
  return node !== null && MOVING.has(node.opType) ? movedInput(view, node.input[0] ?? '') : null;
}

/** The graph outputs that a value is, moved at most. */
function movedOutputs(view: GraphView, name: string): string[] {
  const moved = view
    .consumers(name)
    .filter((node) => MOVING.has(node.opType))
    .flatMap((node) => movedOutputs(view, node.output[0] ?? ''));
  return view.graph.output.some((output) => output.name === name) ? [name, ...moved] : moved;
}
