/**
 * Projected heads of decomposed attention: `[batch, heads, tokens, headDim]` from hidden states.
 */
import { dense, type LayerContext, positionIds, rotaryTables } from './tiny-decoders.js';

/**
 * `plain`: without positions. `rotary`: by single operators. `rotary-node`: by a node of com.microsoft. `split`: one
 * projection for all three, split.
 */
export type Heads = 'plain' | 'rotary' | 'rotary-node' | 'split';

export function projectedHeads(
  context: LayerContext,
  kind: Heads,
  cross: boolean,
): { readonly query: string; readonly key: string; readonly value: string } {
  const { graph, sizes, layer, hidden } = context;
  const { queryHeads, kvHeads, headDim } = sizes;
  const headsFirst = (rows: string, heads: number) => {
    const split = graph.node('Reshape', [rows, graph.ints(0, -1, heads, headDim)]);
    return graph.node('Transpose', [split], { attributes: { perm: [0, 2, 1, 3] } });
  };
  if (kind === 'split') {
    const widths = [queryHeads, kvHeads, kvHeads].map((heads) => heads * headDim);
    const all = widths.reduce((a, b) => a + b, 0);
    const names = ['query', 'key', 'value'].map((name) => `${name}_rows_${layer}`);
    graph.node(
      'Split',
      [dense(graph, hidden, `qkv_${layer}`, sizes.hidden, all), graph.ints(...widths)],
      { attributes: { axis: -1 }, outputs: names },
    );
    const [query = '', key = '', value = ''] = names;
    return {
      query: headsFirst(query, queryHeads),
      key: headsFirst(key, kvHeads),
      value: headsFirst(value, kvHeads),
    };
  }
  const states = cross ? graph.input('encoder_states', ['batch', 'encoder', sizes.hidden]) : hidden;
  const project = (name: string, from: string, heads: number) =>
    headsFirst(dense(graph, from, `${name}_${layer}`, sizes.hidden, heads * headDim), heads);
  const rotated = (heads: string) => {
    if (kind === 'rotary') return rotary(context, heads);
    return kind === 'rotary-node' ? rotaryNode(context, heads) : heads;
  };
  return {
    query: rotated(project('query', hidden, queryHeads)),
    key: rotated(project('key', states, kvHeads)),
    value: project('value', states, kvHeads),
  };
}

function rotaryNode(context: LayerContext, heads: string): string {
  const { cosine, sine } = rotaryTables(context);
  return context.graph.node('RotaryEmbedding', [heads, positionIds(context.graph), cosine, sine], {
    domain: 'com.microsoft',
  });
}

/** x cos + (-second half, first half) sin, of tables gathered at the positions. */
function rotary(context: LayerContext, heads: string): string {
  const { graph, sizes } = context;
  const { cosine, sine } = rotaryTables(context);
  const atPositions = (table: string) =>
    graph.once(`${table} at positions`, () => {
      const rows = graph.node('Gather', [table, positionIds(graph)]);
      const twice = graph.node('Concat', [rows, rows], { attributes: { axis: -1 } });
      return graph.node('Unsqueeze', [twice, graph.ints(1)]);
    });
  const half = sizes.headDim / 2;
  const slice = (first: number, end: number) =>
    graph.node('Slice', [heads, graph.ints(first), graph.ints(end), graph.ints(-1)]);
  const turned = graph.node(
    'Concat',
    [graph.node('Neg', [slice(half, 2 * half)]), slice(0, half)],
    { attributes: { axis: -1 } },
  );
  return graph.node('Add', [
    graph.node('Mul', [heads, atPositions(cosine)]),
    graph.node('Mul', [turned, atPositions(sine)]),
  ]);
}

/** `[batch, queryHeads, tokens, headDim]` of kv heads, each for a group of neighbours. */
export function repeatedHeads(
  { graph, sizes }: LayerContext,
  heads: string,
  repeat: 'expand' | 'sliced' | 'tile' | 'gather',
): string {
  const { queryHeads, kvHeads, headDim } = sizes;
  const group = queryHeads / kvHeads;
  if (group === 1) return heads;
  if (repeat === 'gather') {
    const source = Array.from({ length: queryHeads }, (_, head) => Math.floor(head / group));
    return graph.node('Gather', [heads, graph.ints(...source)], { attributes: { axis: 1 } });
  }
  const single = graph.node('Unsqueeze', [heads, graph.ints(2)]);
  const several =
    repeat === 'tile'
      ? graph.node('Tile', [single, graph.ints(1, 1, group, 1, 1)])
      : graph.node('Expand', [repeat === 'sliced' ? full(single) : single, expandedShape()]);
  return graph.node('Reshape', [several, graph.ints(0, queryHeads, -1, headDim)]);

  /** Slices of the whole, as exporters write them for `[:, :]`. */
  function full(value: string): string {
    return [3, 4].reduce(
      (at, axis) =>
        graph.node('Slice', [
          at,
          graph.ints(0),
          graph.ints(2 ** 62),
          graph.ints(axis),
          graph.ints(1),
        ]),
      value,
    );
  }

  /** As exporters do: lengths from the shape of the cached heads. */
  function expandedShape(): string {
    const size = (axis: number) =>
      graph.node('Unsqueeze', [
        graph.node('Gather', [graph.node('Shape', [heads]), graph.int(axis)]),
        graph.ints(0),
      ]);
    return graph.node(
      'Concat',
      [size(0), graph.ints(kvHeads), graph.ints(group), size(2), graph.ints(headDim)],
      { attributes: { axis: 0 } },
    );
  }
}
