/**
 * Attention of tiny decoders with the caches that decoders are exported with: names, axes, fixed lengths, further inputs.
 */
import { TensorProto_DataType as DataType } from 'onnx-buf';
import type { GraphWriter } from './graph-writer.js';
import { type AttentionForm, attentionMask, type LayerContext } from './tiny-decoders.js';
import { projectedHeads, repeatedHeads } from './tiny-heads.js';
import { lowest } from './tiny-masks.js';

export interface CacheOptions {
  /**
   * `growing`: as long as the past. `start`: `CAPACITY` slots, written at `cache_position`. `end`: `CAPACITY` slots, new
   * tokens after them. `scratch`: as `growing`, but an empty one fails.
   */
  readonly slots?: 'growing' | 'start' | 'end' | 'scratch';
  /** Names of input and output; `both` stands for keys and values on a first axis. */
  readonly names?: (layer: number, tensor: 'key' | 'value' | 'both') => readonly [string, string];
  readonly stacked?: boolean;
  /** Only the new tokens come back. */
  readonly givesNew?: boolean;
  /** What `attention_mask` is about; `ignored`: it is there and nothing reads it. Default `all`. */
  readonly mask?: 'all' | 'new' | 'none' | 'ignored';
  /** `from-zero`: counted in the graph, the past left out, which is wrong. Default `ids`. */
  readonly positions?: 'ids' | 'none' | 'from-zero';
  /** Whether the past is seen: as `use_cache_branch` says, or `never`, which is wrong. */
  readonly branch?: 'input' | 'never';
  /** `total_sequence_length` says where queries stand. */
  readonly total?: boolean;
}

export const CAPACITY = 40;

const OPTIMUM_NAMES = (layer: number, tensor: string) =>
  [`past_key_values.${layer}.${tensor}`, `present.${layer}.${tensor}`] as const;

export function cached(options: CacheOptions = {}): AttentionForm {
  return (context) => {
    const { graph, sizes, layer } = context;
    if (options.positions === 'from-zero') graph.once('input position_ids', () => fromZero(graph));
    const heads = options.positions === 'none' ? 'plain' : 'rotary';
    const { query, key, value } = projectedHeads(context, heads, false);
    const held = options.stacked
      ? stackedCache(context, options, key, value)
      : {
          key: oneCache(context, options, 'key', key),
          value: oneCache(context, options, 'value', value),
        };
    const keys = graph.node('Transpose', [repeatedHeads(context, held.key, 'tile')], {
      attributes: { perm: [0, 1, 3, 2] },
    });
    const scaled = graph.node('Mul', [
      graph.node('MatMul', [query, keys]),
      graph.number(sizes.headDim ** -0.5),
    ]);
    const logits = graph.node('Where', [
      visible(context, options, held.key),
      scaled,
      graph.number(lowest(graph)),
    ]);
    const weights = graph.node('Softmax', [logits], { attributes: { axis: -1 } });
    const attended = graph.node('MatMul', [weights, repeatedHeads(context, held.value, 'tile')], {
      name: `weighted_${layer}`,
    });
    const rows = graph.node('Transpose', [attended], { attributes: { perm: [0, 2, 1, 3] } });
    return graph.node('Reshape', [rows, graph.ints(0, 0, sizes.queryHeads * sizes.headDim)]);
  };
}

function fromZero(graph: GraphWriter): string {
  const tokens = graph.node('Gather', [graph.node('Shape', ['input_ids']), graph.int(1)]);
  const positions = graph.node('Range', [graph.int(0), tokens, graph.int(1)]);
  return graph.node('Unsqueeze', [positions, graph.ints(0)]);
}

/** `[batch, kvHeads, slots, headDim]`, declared as input and output. */
function oneCache(
  context: LayerContext,
  options: CacheOptions,
  tensor: 'key' | 'value',
  rows: string,
): string {
  const { graph, sizes, layer } = context;
  const [input, output] = (options.names ?? OPTIMUM_NAMES)(layer, tensor);
  const slots = options.slots ?? 'growing';
  const fixed = slots === 'start' || slots === 'end';
  const dims = (tokens: number | string) => ['batch', sizes.kvHeads, tokens, sizes.headDim];
  graph.input(input, dims(fixed ? CAPACITY : 'past'));
  const result = options.givesNew ? {} : { outputs: [output] };
  graph.output(output, dims(slots === 'start' ? CAPACITY : 'total'));
  if (options.givesNew) graph.node('Identity', [rows], { outputs: [output] });
  if (slots === 'start') return written(context, input, rows, output);
  const joined = (name: string, more: object) =>
    graph.node('Concat', [name, rows], { attributes: { axis: 2 }, ...more });
  if (slots !== 'scratch') return joined(input, result);
  // Its first slot is read, and multiplied by zero.
  const first = graph.node('Gather', [input, graph.ints(0)], { attributes: { axis: 2 } });
  const nothing = graph.node('Mul', [first, graph.number(0)]);
  return joined(graph.node('Add', [input, nothing]), result);
}

/** Rows put into the slots that `cache_position` names. */
function written({ graph }: LayerContext, past: string, rows: string, output: string): string {
  const positions = graph.input('cache_position', ['tokens'], DataType.INT64);
  const isSlot = graph.once('slot of token', () =>
    graph.node('Cast', [graph.node('Equal', [column(), slotNumbers()])], {
      attributes: { to: graph.floatDataType },
    }),
  );
  const spread = graph.node('MatMul', [
    graph.node('Transpose', [isSlot], { attributes: { perm: [1, 0] } }),
    rows,
  ]);
  const taken = graph.node('ReduceSum', [isSlot, graph.ints(0)], { attributes: { keepdims: 0 } });
  const free = graph.node('Unsqueeze', [
    graph.node('Sub', [graph.number(1), taken]),
    graph.ints(1),
  ]);
  return graph.node('Add', [graph.node('Mul', [past, free]), spread], { outputs: [output] });

  function column(): string {
    return graph.node('Unsqueeze', [positions, graph.ints(1)]);
  }
  function slotNumbers(): string {
    return graph.ints(...Array.from({ length: CAPACITY }, (_, i) => i));
  }
}

/** `[2, batch, kvHeads, slots, headDim]` of keys, then values. */
function stackedCache(
  { graph, sizes, layer }: LayerContext,
  { names = (n: number) => [`past_${n}`, `present_${n}`] as const }: CacheOptions,
  key: string,
  value: string,
): { readonly key: string; readonly value: string } {
  const [input, output] = names(layer, 'both');
  const dims = (tokens: string) => [2, 'batch', sizes.kvHeads, tokens, sizes.headDim];
  graph.input(input, dims('past'));
  graph.output(output, dims('total'));
  const part = (rows: string, index: number) =>
    graph.node('Concat', [graph.node('Gather', [input, graph.int(index)]), rows], {
      attributes: { axis: 2 },
    });
  const parts = { key: part(key, 0), value: part(value, 1) };
  const single = (rows: string) => graph.node('Unsqueeze', [rows, graph.ints(0)]);
  graph.node('Concat', [single(parts.key), single(parts.value)], {
    attributes: { axis: 0 },
    outputs: [output],
  });
  return parts;
}

/** Boolean `[1, 1, tokens, slots]`. */
function visible(context: LayerContext, options: CacheOptions, held: string): string {
  const { graph } = context;
  return graph.once('visible', () => {
    const size = (value: string, axis: number) =>
      graph.node('Gather', [graph.node('Shape', [value]), graph.int(axis)]);
    const tokens = size('input_ids', 1);
    const slots = size(held, 2);
    const range = (first: string, end: string, axis: number) =>
      graph.node('Unsqueeze', [graph.node('Range', [first, end, graph.int(1)]), graph.ints(axis)]);
    const queries = () => {
      if (options.slots === 'start')
        return graph.node('Unsqueeze', ['cache_position', graph.ints(1)]);
      if (!options.total) return range(graph.node('Sub', [slots, tokens]), slots, 1);
      const total = graph.node('Cast', [graph.input('total_sequence_length', [], DataType.INT32)], {
        attributes: { to: DataType.INT64 },
      });
      return range(graph.node('Sub', [total, tokens]), total, 1);
    };
    const keys = range(graph.int(0), slots, 0);
    const past = graph.node('Sub', [slots, tokens]);
    let seen = graph.node('LessOrEqual', [keys, queries()]);
    if (options.branch) {
      const isNew = graph.node('GreaterOrEqual', [keys, past]);
      const branch = () => graph.input('use_cache_branch', [1], DataType.BOOL);
      const shown = options.branch === 'never' ? isNew : graph.node('Or', [isNew, branch()]);
      seen = graph.node('And', [seen, shown]);
    }
    const all = graph.node('Unsqueeze', [seen, graph.ints(0, 1)]);
    const mask = maskOf(options, past);
    return mask === null ? all : graph.node('And', [all, mask]);
  });

  /** Boolean `[batch, 1, 1, slots]`. */
  function maskOf({ mask = 'all' }: CacheOptions, past: string): string | null {
    if (mask === 'none') return null;
    const numbers =
      mask === 'new'
        ? graph.input('attention_mask', ['batch', 'tokens'], DataType.INT64)
        : attentionMask(graph);
    if (mask === 'ignored') return null;
    const ones = () =>
      graph.node('Expand', [
        graph.ints(1),
        graph.node('Concat', [graph.ints(1), graph.node('Unsqueeze', [past, graph.ints(0)])], {
          attributes: { axis: 0 },
        }),
      ]);
    const whole =
      mask === 'new'
        ? graph.node('Concat', [ones(), numbers], { attributes: { axis: 1 } })
        : numbers;
    return graph.node('Unsqueeze', [
      graph.node('Cast', [whole], { attributes: { to: DataType.BOOL } }),
      graph.ints(1, 2),
    ]);
  }
}
