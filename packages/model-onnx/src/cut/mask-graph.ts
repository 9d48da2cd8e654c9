/**
 * The part of a graph that makes its masks, without the layers: heads and attention, of which masks take lengths alone, are
 * replaced by stand-ins.
 */
import type { NodeProto } from 'onnx-buf';
import { floatTypeOf } from '../attention/float-type.js';
import { type GraphView, inputsOf } from '../attention/graph-view.js';
import type { AttentionSite, HeadsValue } from '../attention/site.js';

/** A value to be fed instead of computed: only its shape counts. */
export interface StandIn {
  readonly name: string;
  readonly type: 'float32' | 'float16';
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
  const replaced = new Map(
    sites.flatMap((site) => standInsOf(view, site)).map((value) => [value.name, value]),
  );
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
  const isMade = (name: string) => {
    const node = view.producer(name);
    return node !== null && nodes.has(node);
  };
  return {
    nodes: view.graph.node.filter((node) => nodes.has(node)),
    graphInputs: [...graphInputs],
    // One that comes out of a node beside others is computed after all.
    standIns: [...standIns].filter(({ name }) => !isMade(name)),
    integers: [...integers],
  };
}

function standInsOf(view: GraphView, { query, key, value, output, geometry }: AttentionSite) {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = geometry;
  const values = [
    standIn(query, queryHeads, keyHeadDim),
    standIn(key, kvHeads, keyHeadDim),
    standIn(value, kvHeads, valueHeadDim),
    standIn(output, queryHeads, valueHeadDim),
  ];
  return values.flatMap((found) => {
    const type = found && floatTypeOf(view, found.name);
    return found === null || type === null ? [] : [{ ...found, type }];
  });
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
