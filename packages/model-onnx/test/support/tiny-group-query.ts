/**
 * Attention of tiny decoders as `com.microsoft.GroupQueryAttention`.
 */
import { TensorProto_DataType as DataType } from 'onnx-buf';
import type { AttributeValue, GraphWriter } from './graph-writer.js';
import {
  type AttentionForm,
  attentionMask,
  dense,
  type LayerContext,
  pastOf,
  positionIds,
  presentOf,
  rotaryTables,
} from './tiny-decoders.js';

export interface GroupQueryOptions {
  /** Queries, keys and values in one value. */
  readonly packed?: boolean;
  /** Inside the operator, in a node of com.microsoft or of the standard before it, or none. Default `inside`. */
  readonly rotary?: 'inside' | 'node' | 'standard-node' | 'none';
  readonly pairs?: 'halves' | 'adjacent';
  readonly scale?: number;
  readonly softCap?: number;
  readonly window?: number;
  /** `by-length`: those of `LONG_CONTEXT` tokens and less, or others, by an If. Default `initializers`. */
  readonly tables?: 'initializers' | 'computed' | 'by-length';
  /** Base of the keys' embedding where it is not that of the queries. */
  readonly keyBase?: number;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  /** A vector added to queries, keys and values. */
  readonly bias?: boolean;
  /** Inputs from the position ids on, number 9. */
  readonly moreInputs?: (context: LayerContext) => readonly string[];
  /** `node`: not as the graph's inputs give it. Default `input`. */
  readonly pastFrom?: 'input' | 'node';
}

/** Longest context for the first of two tables. */
export const LONG_CONTEXT = 40;

export function groupQuery(options: GroupQueryOptions = {}): AttentionForm {
  return (context) => {
    const { graph, sizes, layer } = context;
    const { rotary = 'inside', pairs = 'halves' } = options;
    const attributes: Record<string, AttributeValue> = {
      num_heads: sizes.queryHeads,
      kv_num_heads: sizes.kvHeads,
      ...options.attributes,
    };
    if (rotary === 'inside') attributes.do_rotary = 1;
    if (rotary === 'inside' && pairs === 'adjacent') attributes.rotary_interleaved = 1;
    if (options.scale !== undefined) attributes.scale = { float: options.scale };
    if (options.softCap !== undefined) attributes.softcap = { float: options.softCap };
    if (options.window !== undefined) attributes.local_window_size = options.window;
    const held = pastOf(context);
    const present = presentOf(context);
    const pastKey = options.pastFrom === 'node' ? graph.node('Identity', [held.key]) : held.key;
    const { seqlens, total } = lengths(graph);
    const tables = rotary === 'inside' ? tableNames(context, options) : ['', ''];
    return graph.node(
      'GroupQueryAttention',
      [
        ...projections(context, options),
        ...[pastKey, held.value, seqlens, total],
        ...tables,
        ...(options.moreInputs?.(context) ?? []),
      ],
      {
        domain: 'com.microsoft',
        name: `attention_${layer}`,
        attributes,
        outputs: [`attended_${layer}`, present.key, present.value],
      },
    );
  };
}

function projections(context: LayerContext, options: GroupQueryOptions): string[] {
  const { graph, sizes, layer, hidden } = context;
  const { queryHeads, kvHeads, headDim } = sizes;
  const project = (name: string, heads: number) => {
    const rows = dense(graph, hidden, `${name}_${layer}`, sizes.hidden, heads * headDim);
    if (!options.bias) return rows;
    return graph.node('Add', [rows, graph.weights(`${name}_bias_${layer}`, [heads * headDim], 1)]);
  };
  if (options.packed) return [project('qkv', queryHeads + 2 * kvHeads), '', ''];
  const { rotary } = options;
  const turned = (rows: string, heads: number, base?: number) =>
    rotary === 'node' || rotary === 'standard-node'
      ? rotaryRows(context, options, rows, heads, base)
      : rows;
  return [
    turned(project('query', queryHeads), queryHeads),
    turned(project('key', kvHeads), kvHeads, options.keyBase),
    project('value', kvHeads),
  ];
}

/** Of `[batch, tokens, heads * headDim]`. */
function rotaryRows(
  context: LayerContext,
  options: GroupQueryOptions,
  rows: string,
  heads: number,
  base?: number,
): string {
  const { graph } = context;
  const [cosine = '', sine = ''] = tableNames(context, options, base);
  const attributes = {
    interleaved: options.pairs === 'adjacent' ? 1 : 0,
    num_heads: heads,
    rotary_embedding_dim: context.sizes.rotaryDim ?? 0,
  };
  if (options.rotary === 'standard-node')
    return graph.node('RotaryEmbedding', [rows, cosine, sine, positionIds(graph)], { attributes });
  return graph.node('RotaryEmbedding', [rows, positionIds(graph), cosine, sine], {
    domain: 'com.microsoft',
    attributes,
  });
}

function tableNames(context: LayerContext, { tables }: GroupQueryOptions, base?: number): string[] {
  const { graph } = context;
  const { cosine, sine } = rotaryTables(context, base);
  if (tables === 'computed')
    return [cosine, sine].map((name) =>
      graph.once(`computed ${name}`, () => graph.node('Mul', [name, graph.number(1)])),
    );
  if (tables !== 'by-length') return [cosine, sine];
  const long = rotaryTables(context, 7);
  const outputs = ['chosen_cosine', 'chosen_sine'];
  graph.once('tables by length', () => {
    const total = graph.node('Gather', [graph.node('Shape', [attentionMask(graph)]), graph.int(1)]);
    return graph.node('If', [graph.node('Greater', [total, graph.int(LONG_CONTEXT)])], {
      attributes: {
        then_branch: { constants: [long.cosine, long.sine] },
        else_branch: { constants: [cosine, sine] },
      },
      outputs,
    });
  });
  return outputs;
}

/** What the operator takes of the lengths, from `attention_mask` as exporters do. */
function lengths(graph: GraphWriter): { readonly seqlens: string; readonly total: string } {
  const toInt32 = (value: string) =>
    graph.node('Cast', [value], { attributes: { to: DataType.INT32 } });
  return {
    seqlens: graph.once('seqlens', () => {
      const sum = graph.node('ReduceSum', [attentionMask(graph), graph.ints(1)], {
        attributes: { keepdims: 0 },
      });
      return toInt32(graph.node('Sub', [sum, graph.int(1)]));
    }),
    total: graph.once('total length', () => {
      const shape = graph.node('Shape', [attentionMask(graph)]);
      return toInt32(graph.node('Gather', [shape, graph.int(1)], { attributes: { axis: 0 } }));
    }),
  };
}
