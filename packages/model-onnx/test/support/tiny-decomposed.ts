/**
 * Attention of tiny decoders as exporters write it: single operators from the projections to the weighted sum of values.
 */
import { TensorProto_DataType as DataType } from 'onnx-buf';
import { type AttentionForm, type LayerContext, pastOf, presentOf } from './tiny-decoders.js';
import { type Heads, projectedHeads, repeatedHeads } from './tiny-heads.js';
import {
  addedMask,
  lowest,
  type PastLength,
  paddingMask,
  type Sight,
  visibleMask,
} from './tiny-masks.js';

export interface DecomposedOptions {
  /** Axes of cached keys; `channels-first` is `[batch, heads, headDim, tokens]` for keys alone. Default `heads-first`. */
  readonly cache?: 'heads-first' | 'tokens-first' | 'channels-first' | 'none';
  /** How kv heads become query heads where there are fewer. Default `expand`. */
  readonly repeat?: 'expand' | 'sliced' | 'tile' | 'gather';
  /** Where logits are scaled. `roots`: query and key by the root each, from the shape of the query. Default `product`. */
  readonly scale?: 'product' | 'divided' | 'query' | 'key-before-cache' | 'key' | 'roots' | 'none';
  /** The number; default 1 / sqrt(headDim), which is the only one of `roots`. */
  readonly scaleBy?: number;
  readonly softCap?: number;
  readonly mask?: MaskForm;
  readonly sight?: Sight;
  readonly pastLength?: PastLength;
  /** Every layer cuts the mask to the length of its own keys. */
  readonly maskPerLayer?: boolean;
  /** Softmax, or the product of queries and keys too, in f32 whatever the model has. */
  readonly inFloat32?: 'softmax' | 'product';
  /** Weights that are NaN become 0, as newer exporters guard rows that see nothing. */
  readonly guarded?: boolean;
  readonly heads?: Heads;
  /** Keys and values of another input, `encoder_states`. */
  readonly cross?: boolean;
  /** What no decoder of ours may do. */
  readonly odd?: Odd;
}

/**
 * `sink`: a logit beside those of tokens. `late-cap`: a soft cap after the mask. `weights`: given out. `computed-past`: not
 * as the graph's inputs give it.
 */
export type Odd = 'sink' | 'late-cap' | 'weights' | 'computed-past';

/** `seen-and-padding`: a Where for causality and an Add for padding. */
export type MaskForm =
  | 'added'
  | 'added-padding'
  | 'where-seen'
  | 'where-hidden'
  | 'seen-and-padding'
  | 'none';

export function decomposed(options: DecomposedOptions = {}): AttentionForm {
  return (context) => {
    const { graph, sizes, layer } = context;
    const { scale = 'product', scaleBy = sizes.headDim ** -0.5 } = options;
    const projected = projectedHeads(context, options.heads ?? 'plain', options.cross ?? false);
    const times = (value: string, factor: number) =>
      graph.node('Mul', [value, graph.number(factor)]);
    const byRoot = (value: string) =>
      graph.node('Mul', [value, rootFromShape(context, projected.query)]);

    let query = projected.query;
    if (scale === 'query') query = times(query, scaleBy);
    if (scale === 'roots') query = byRoot(query);
    const newKey = scale === 'key-before-cache' ? times(projected.key, scaleBy) : projected.key;
    const cached = cachedHeads(context, options, newKey, projected.value);
    const repeat = (value: string) => repeatedHeads(context, value, options.repeat ?? 'expand');
    let key =
      options.cache === 'channels-first' ? cached.key : transposed(context, repeat(cached.key));
    if (scale === 'key') key = times(key, scaleBy);
    if (scale === 'roots') key = byRoot(key);

    const wide = (value: string) =>
      options.inFloat32 === 'product'
        ? graph.node('Cast', [value], { attributes: { to: DataType.FLOAT } })
        : value;
    let logits = graph.node('MatMul', [wide(query), wide(key)], { name: `scores_${layer}` });
    if (options.inFloat32 === 'product')
      logits = graph.node('Cast', [logits], { attributes: { to: graph.floatDataType } });
    if (scale === 'product') logits = times(logits, scaleBy);
    if (scale === 'divided') logits = graph.node('Div', [logits, graph.number(1 / scaleBy)]);
    if (options.softCap !== undefined) logits = capped(context, logits, options.softCap);
    logits = masked(context, logits, options, cached.key);
    if (options.odd === 'late-cap') logits = capped(context, logits, 30);
    const weights = softmax(context, logits, options);
    if (options.odd === 'weights')
      graph.output(weights, ['batch', sizes.queryHeads, 'tokens', 'total']);
    const attended = graph.node('MatMul', [weights, repeat(cached.value)], {
      name: `weighted_${layer}`,
    });
    const tokensFirst = graph.node('Transpose', [attended], { attributes: { perm: [0, 2, 1, 3] } });
    return graph.node('Reshape', [tokensFirst, rowsShape(context)]);
  };
}

/** `[batch, tokens, width]`, of lengths that exporters take from the states before the attention. */
function rowsShape({ graph, sizes, hidden }: LayerContext): string {
  const size = (axis: number) =>
    graph.node('Unsqueeze', [
      graph.node('Gather', [graph.node('Shape', [hidden]), graph.int(axis)]),
      graph.ints(0),
    ]);
  return graph.node('Concat', [size(0), size(1), graph.ints(sizes.queryHeads * sizes.headDim)], {
    attributes: { axis: 0 },
  });
}

function transposed({ graph }: LayerContext, key: string): string {
  return graph.node('Transpose', [key], { attributes: { perm: [0, 1, 3, 2] } });
}

/** The fourth root of 1 / headDim, which exporters compute from the shape of the query. */
function rootFromShape({ graph }: LayerContext, query: string): string {
  const dim = graph.node('Slice', [
    graph.node('Shape', [query]),
    graph.ints(-1),
    graph.ints(2 ** 40),
    graph.ints(0),
  ]);
  const float = graph.node('Cast', [dim], { attributes: { to: graph.floatDataType } });
  const scale = graph.node('Div', [graph.number(1), graph.node('Sqrt', [float])]);
  return graph.node('Sqrt', [scale]);
}

/** Keys and values with those of the past before them, heads first, declared as what is given back. */
function cachedHeads(
  context: LayerContext,
  { cache = 'heads-first', odd }: DecomposedOptions,
  key: string,
  value: string,
): { readonly key: string; readonly value: string } {
  const { graph, sizes } = context;
  if (cache === 'none') return { key, value };
  const { kvHeads, headDim } = sizes;
  const permuted = (name: string, perm: readonly number[]) =>
    graph.node('Transpose', [name], { attributes: { perm } });
  const joined = (past: string, rows: string, axis: number, present: string) =>
    graph.node('Concat', [odd === 'computed-past' ? graph.node('Abs', [past]) : past, rows], {
      attributes: { axis },
      outputs: [present],
    });
  if (cache === 'tokens-first') {
    const past = pastOf(context, ['batch', 'past', kvHeads, headDim]);
    const present = presentOf(context, ['batch', 'total', kvHeads, headDim]);
    const swap = [0, 2, 1, 3];
    return {
      key: permuted(joined(past.key, permuted(key, swap), 1, present.key), swap),
      value: permuted(joined(past.value, permuted(value, swap), 1, present.value), swap),
    };
  }
  const swapped = cache === 'channels-first';
  const dims = (tokens: string) => ['batch', kvHeads, tokens, headDim] as const;
  const keyDims = (tokens: string) =>
    swapped ? (['batch', kvHeads, headDim, tokens] as const) : dims(tokens);
  const past = pastOf(context, keyDims('past'), dims('past'));
  const present = presentOf(context, keyDims('total'), dims('total'));
  return {
    key: swapped
      ? joined(past.key, permuted(key, [0, 1, 3, 2]), 3, present.key)
      : joined(past.key, key, -2, present.key),
    value: joined(past.value, value, 2, present.value),
  };
}

function capped({ graph }: LayerContext, logits: string, cap: number): string {
  const tangent = graph.node('Tanh', [graph.node('Div', [logits, graph.number(cap)])]);
  return graph.node('Mul', [tangent, graph.number(cap)]);
}

function masked(
  context: LayerContext,
  logits: string,
  options: DecomposedOptions,
  key: string,
): string {
  const { graph } = context;
  const { mask = 'added', sight = 'causal' } = options;
  const from = options.pastLength ?? (options.cache === 'none' ? 'none' : 'past');
  const floor = graph.number(lowest(graph));
  const where = () => graph.node('Where', [visibleMask(context, sight, from), logits, floor]);
  switch (mask) {
    case 'none':
      return logits;
    case 'added':
    case 'added-padding': {
      const added = addedMask(context, sight, from, mask === 'added-padding');
      return graph.node('Add', [logits, options.maskPerLayer ? cut(added) : added]);
    }
    case 'where-seen':
      return where();
    case 'where-hidden': {
      const hidden = graph.node('Not', [visibleMask(context, sight, from)]);
      return graph.node('Where', [hidden, floor, logits]);
    }
    case 'seen-and-padding': {
      const padding = graph.once('added padding', () =>
        graph.node('Where', [paddingMask(graph), graph.number(0), floor]),
      );
      return graph.node('Add', [where(), padding]);
    }
  }

  function cut(value: string): string {
    const total = graph.node('Gather', [graph.node('Shape', [key]), graph.ints(2)]);
    return graph.node('Slice', [value, graph.ints(0), total, graph.ints(3)]);
  }
}

function softmax(
  { graph, layer, sizes }: LayerContext,
  logits: string,
  { inFloat32, guarded = false, odd }: DecomposedOptions,
): string {
  if (odd === 'sink') {
    const { queryHeads } = sizes;
    const sink = graph.table(`sink_${layer}`, [1, queryHeads, 1, 1], Array(queryHeads).fill(1));
    const column = graph.node('Mul', [graph.node('ReduceMax', [logits, graph.ints(-1)]), sink]);
    const wide = graph.node('Softmax', [
      graph.node('Concat', [logits, column], { attributes: { axis: -1 } }),
    ]);
    return graph.node('Slice', [wide, graph.ints(0), graph.ints(-1), graph.ints(-1)]);
  }
  const cast = (value: string, to: DataType) =>
    inFloat32 === 'softmax' ? graph.node('Cast', [value], { attributes: { to } }) : value;
  const weights = cast(
    graph.node('Softmax', [cast(logits, DataType.FLOAT)], {
      name: `softmax_${layer}`,
      attributes: { axis: -1 },
    }),
    graph.floatDataType,
  );
  if (!guarded) return weights;
  return graph.node('Where', [graph.node('IsNaN', [weights]), graph.number(0), weights]);
}
