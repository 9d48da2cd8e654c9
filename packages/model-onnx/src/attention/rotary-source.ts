/**
 * RotaryEmbedding nodes on the way to an attention, also where heads are moved or scaled after them.
 */
import type { GraphView } from './graph-view.js';
import { axesOfLayout, type HeadsPoint, layoutOf, stepBack } from './heads-path.js';
import { rotaryBefore } from './rotary-node.js';
import type { HeadsValue, RotarySite } from './site.js';

export interface OwnedRotary {
  /** Before the embedding. */
  readonly query: HeadsValue;
  readonly key: HeadsValue;
  readonly rotary: RotarySite;
  /** What the logits are multiplied by for scaling that was left out with the embedding. */
  readonly factor: number;
}

/** Null where the embedding stays in the graph, or there is none. */
export function ownedRotary(
  view: GraphView,
  query: HeadsValue,
  key: HeadsValue,
): OwnedRotary | null {
  if (query.bias !== undefined || key.bias !== undefined) return null;
  const ofQuery = rotated(view, query);
  const ofKey = rotated(view, key);
  if (ofQuery === null || ofKey === null) return null;
  const before = rotaryBefore(view, ofQuery.name, ofKey.name);
  const queryLayout = layoutOf(ofQuery.axes);
  const keyLayout = layoutOf(ofKey.axes);
  if (before === null || queryLayout === null || keyLayout === null) return null;
  // An embedding in f32 between casts stays in the graph of an f16 model.
  if (view.elementType(before.query) !== view.elementType(query.name)) return null;
  return {
    query: { name: before.query, layout: queryLayout },
    key: { name: before.key, layout: keyLayout },
    rotary: before.rotary,
    factor: ofQuery.factor * ofKey.factor,
  };
}

/** The result of the RotaryEmbedding node that the heads come from. */
function rotated(view: GraphView, heads: HeadsValue): HeadsPoint | null {
  const axes = heads.channels === undefined ? axesOfLayout(heads.layout) : null;
  if (axes === null) return null;
  let point: HeadsPoint | null = { name: heads.name, axes, factor: 1 };
  while (point !== null && view.producer(point.name)?.opType !== 'RotaryEmbedding')
    point = stepBack(view, point);
  return point;
}
