/**
 * Attention of tiny decoders as `com.microsoft.MultiHeadAttention`.
 */
import { TensorProto_DataType as DataType } from 'onnx-buf';
import type { AttributeValue } from './graph-writer.js';
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
import { addedMask, type Sight } from './tiny-masks.js';

export interface MultiHeadOptions {
  /**
   * How queries, keys and values come; default `rows`. The CPU has nothing for packed ones: `unpacked` and `unpacked-kv` are
   * the same decoders with rows.
   */
  readonly inputs?: 'rows' | 'packed' | 'packed-kv' | 'unpacked' | 'unpacked-kv' | 'heads-first';
  /** Rotary embedding before it; needs `rows`. */
  readonly rotary?: 'halves' | 'adjacent';
  /** A cache; `computed`: not as the graph's inputs give it. Default true. */
  readonly past?: boolean | 'computed';
  /** Concatenated biases of queries, keys and values. */
  readonly bias?: boolean;
  /** Left out: the operator is causal itself. */
  readonly mask?: Sight;
  /** `attention_mask` as the mask of padding. */
  readonly padding?: boolean;
  readonly unidirectional?: boolean;
  readonly scale?: number;
  /** `mask_filter_value`. */
  readonly maskValue?: number;
  /** Keys and values of another input, `encoder_states`; needs `rows`. */
  readonly cross?: boolean;
}

export function multiHead(options: MultiHeadOptions = {}): AttentionForm {
  return (context) => {
    const { graph, sizes, layer } = context;
    const { past = true, mask } = options;
    const width = sizes.queryHeads * sizes.headDim;
    const unidirectional = options.unidirectional ?? mask === undefined;
    const attributes: Record<string, AttributeValue> = { num_heads: sizes.queryHeads };
    if (unidirectional) attributes.unidirectional = 1;
    if (options.scale !== undefined) attributes.scale = { float: options.scale };
    if (options.maskValue !== undefined)
      attributes.mask_filter_value = { float: options.maskValue };
    const padding = options.padding
      ? graph.once('padding integers', () =>
          graph.node('Cast', [attentionMask(graph)], { attributes: { to: DataType.INT32 } }),
        )
      : '';
    const held = past ? pastOf(context) : null;
    const pastValue = (name: string) =>
      past === 'computed' ? graph.node('Neg', [graph.node('Neg', [name])]) : name;
    const present = past ? presentOf(context) : null;
    return graph.node(
      'MultiHeadAttention',
      [
        ...projections(context, options),
        options.bias ? graph.weights(`qkv_bias_${layer}`, [3 * width], 0.3) : '',
        padding,
        mask === undefined ? '' : addedMask(context, mask, past ? 'past' : 'none'),
        ...(held === null ? [] : [held.key, held.value].map(pastValue)),
      ],
      {
        domain: 'com.microsoft',
        name: `attention_${layer}`,
        attributes,
        outputs: [`attended_${layer}`, ...(present === null ? [] : [present.key, present.value])],
      },
    );
  };
}

/** Queries, keys and values as the operator takes them. */
function projections(
  context: LayerContext,
  { inputs = 'rows', rotary, cross = false }: MultiHeadOptions,
): string[] {
  const { graph, sizes, layer, hidden } = context;
  const { queryHeads: heads, headDim } = sizes;
  const width = heads * headDim;
  const others = cross ? graph.input('encoder_states', ['batch', 'encoder', sizes.hidden]) : hidden;
  const project = (name: string, parts = 1) =>
    dense(
      graph,
      name === 'query' ? hidden : others,
      `${name}_${layer}`,
      sizes.hidden,
      parts * width,
    );
  const parts = (name: string, count: number) =>
    graph.node('Reshape', [project(name, count), graph.ints(0, 0, heads, count, headDim)]);
  const headsFirst = (name: string) =>
    graph.node(
      'Transpose',
      [graph.node('Reshape', [project(name), graph.ints(0, 0, heads, headDim)])],
      { attributes: { perm: [0, 2, 1, 3] } },
    );
  const rowsOf = (packed: string, part: number) =>
    graph.node('Reshape', [
      graph.node('Gather', [packed, graph.int(part)], { attributes: { axis: 3 } }),
      graph.ints(0, 0, width),
    ]);
  if (inputs === 'unpacked') {
    const packed = parts('qkv', 3);
    return [0, 1, 2].map((part) => rowsOf(packed, part));
  }
  if (inputs === 'unpacked-kv') {
    const query = project('query');
    const packed = parts('kv', 2);
    return [query, rowsOf(packed, 0), rowsOf(packed, 1)];
  }
  if (inputs === 'packed') return [parts('qkv', 3), '', ''];
  if (inputs === 'packed-kv') return [project('query'), parts('kv', 2), ''];
  if (inputs === 'heads-first') return [project('query'), headsFirst('key'), headsFirst('value')];
  const rotated = (name: string) =>
    rotary === undefined ? project(name) : rotaryRows(context, project(name), rotary, heads);
  return [rotated('query'), rotated('key'), project('value')];
}

/** `com.microsoft.RotaryEmbedding` of `[batch, tokens, heads * headDim]`. */
function rotaryRows(
  context: LayerContext,
  rows: string,
  pairs: 'halves' | 'adjacent',
  heads: number,
): string {
  const { graph } = context;
  const { cosine, sine } = rotaryTables(context);
  return graph.node('RotaryEmbedding', [rows, positionIds(graph), cosine, sine], {
    domain: 'com.microsoft',
    attributes: { interleaved: pairs === 'adjacent' ? 1 : 0, num_heads: heads },
  });
}
