/**
 * The part of a graph that makes its masks, without the layers: heads and attention, of which masks take lengths alone, are
 * replaced by stand-ins.
 */
import type { NodeProto } from 'onnx-buf';
import { type GraphView, inputsOf } from '../attention/graph-view.js';
import type { AttentionSite, HeadsValue } from '../attention/site.js';

/** A value to be fed instead of computed: only its shape counts. */
export interface StandIn {
  readonly name: string;
  readonly type: AttentionSite['elementType'];
  /** Null: tokens. */
  readonly dims: readonly (number | null)[];
}

export interface MaskGraph {
  /** In the order of the graph. */
  readonly nodes: readonly NodeProto[];
  readonly graphInputs: readonly string[];
  readonly standIns: readonly StandIn[];
  /** Positive whole numbers among its constants: a window is one of them. */
  readonly integers: readonly number[];
}

/** No window is as large; ends of slices are larger. */
const LARGEST_WINDOW = 2 ** 24;

export function maskGraph(
  view: GraphView,
  sites: readonly AttentionSite[],
  masks: readonly string[],
): MaskGraph {
  const replaced = new Map(sites.flatMap(standInsOf).map((value) => [value.name, value]));
  const nodes = new Set<NodeProto>();
  const graphInputs = new Set<string>();
  const standIns = new Set<StandIn>();
  const integers = new Set<number>();
  const open = [...masks];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const standIn = replaced.get(name);
    const number = view.scalar(name);
    if (standIn !== undefined) standIns.add(standIn);
    else if (view.isGraphInput(name)) graphInputs.add(name);
    if (number !== null && Number.isInteger(number) && number > 0 && number < LARGEST_WINDOW)
      integers.add(number);
    const node = standIn === undefined ? view.producer(name) : null;
    if (node === null || nodes.has(node)) continue;
    nodes.add(node);
    open.push(...inputsOf(node));
  }
  return {
    nodes: view.graph.node.filter((node) => nodes.has(node)),
    graphInputs: [...graphInputs],
    standIns: [...standIns],
    integers: [...integers],
  };
}

function standInsOf({ query, key, value, output, geometry, elementType }: AttentionSite) {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = geometry;
  const heads = [
    standIn(query, queryHeads, keyHeadDim),
    standIn(key, kvHeads, keyHeadDim),
    standIn(value, kvHeads, valueHeadDim),
    standIn(output, queryHeads, valueHeadDim),
  ];
  return heads.filter((found) => found !== null).map((found) => ({ ...found, type: elementType }));
}

/** Null for packed heads: the whole value is made of them. */
function standIn(
  { name, layout, channels }: Pick<HeadsValue, 'name' | 'layout' | 'channels'>,
  heads: number,
  headDim: number,
): Omit<StandIn, 'type'> | null {
  if (channels !== undefined || layout === 'parts') return null;
  if (layout === 'rows') return { name, dims: [1, null, heads * headDim] };
  return {
    name,
    dims: layout === 'headsFirst' ? [1, heads, null, headDim] : [1, null, heads, headDim],
  };
}
