/**
 * Attention of tiny decoders as the standard operator `Attention` of operator sets 23 and 24.
 */
import type { AttributeValue } from './graph-writer.js';
import {
  type AttentionForm,
  dense,
  type LayerContext,
  pastOf,
  positionIds,
  presentOf,
  rotaryTables,
} from './tiny-decoders.js';
import { addedMask, type Sight, visibleMask } from './tiny-masks.js';

export interface StandardOptions {
  /** `rows`: `[batch, tokens, heads * headDim]`; `heads-first`: `[batch, heads, tokens, headDim]`. Default `rows`. */
  readonly inputs?: 'rows' | 'heads-first';
  readonly rotary?: 'halves' | 'adjacent';
  /** A cache; `computed`: not as the graph's inputs give it. Default true. */
  readonly past?: boolean | 'computed';
  /** Left out: the operator is causal itself. */
  readonly mask?: { readonly sight: Sight; readonly kind: 'added' | 'boolean' };
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  /** Keys and values of another input, `encoder_states`. */
  readonly cross?: boolean;
  /** `nonpad_kv_seqlen`, the seventh input. */
  readonly lengths?: boolean;
  /** A fourth result. */
  readonly weights?: boolean;
}

export function standardAttention(options: StandardOptions = {}): AttentionForm {
  return (context) => {
    const { graph, sizes, layer } = context;
    const { inputs = 'rows', past = true, mask } = options;
    const held = past ? pastOf(context) : null;
    const present = past ? presentOf(context) : null;
    const attended = graph.node(
      'Attention',
      [
        ...projections(context, inputs, options),
        mask === undefined ? '' : maskOf(context, mask, past !== false),
        ...(held === null ? [] : [held.key, held.value]).map((name) =>
          past === 'computed' ? graph.node('Abs', [name]) : name,
        ),
        ...(options.lengths ? [graph.ints(3)] : []),
      ],
      {
        name: `attention_${layer}`,
        attributes: {
          ...(inputs === 'rows'
            ? { q_num_heads: sizes.queryHeads, kv_num_heads: sizes.kvHeads }
            : {}),
          ...(mask === undefined ? { is_causal: 1 } : {}),
          ...options.attributes,
        },
        outputs: [
          `attended_${layer}`,
          ...(present === null ? [] : [present.key, present.value]),
          ...(options.weights ? [`weights_${layer}`] : []),
        ],
      },
    );
    if (inputs === 'rows') return attended;
    const tokensFirst = graph.node('Transpose', [attended], {
      attributes: { perm: [0, 2, 1, 3] },
    });
    return graph.node('Reshape', [tokensFirst, graph.ints(0, 0, sizes.queryHeads * sizes.headDim)]);
  };
}

function maskOf(
  context: LayerContext,
  { sight, kind }: NonNullable<StandardOptions['mask']>,
  past: boolean,
): string {
  const from = past ? 'past' : 'none';
  return kind === 'added' ? addedMask(context, sight, from) : visibleMask(context, sight, from);
}

function projections(
  context: LayerContext,
  inputs: NonNullable<StandardOptions['inputs']>,
  { rotary, cross }: StandardOptions,
): string[] {
  const { graph, sizes, layer, hidden } = context;
  const others = cross ? graph.input('encoder_states', ['batch', 'encoder', sizes.hidden]) : hidden;
  const project = (name: string, heads: number) => {
    const width = heads * sizes.headDim;
    const from = name === 'query' ? hidden : others;
    const rows = dense(graph, from, `${name}_${layer}`, sizes.hidden, width);
    if (inputs === 'rows') return rows;
    const split = graph.node('Reshape', [rows, graph.ints(0, 0, heads, sizes.headDim)]);
    return graph.node('Transpose', [split], { attributes: { perm: [0, 2, 1, 3] } });
  };
  const rotated = (name: string, heads: number) => {
    if (rotary === undefined) return project(name, heads);
    const { cosine, sine } = rotaryTables(context);
    const attributes = {
      interleaved: rotary === 'adjacent' ? 1 : 0,
      rotary_embedding_dim: sizes.rotaryDim ?? 0,
    };
    return graph.node('RotaryEmbedding', [project(name, heads), cosine, sine, positionIds(graph)], {
      attributes: inputs === 'rows' ? { ...attributes, num_heads: heads } : attributes,
    });
  };
  return [
    rotated('query', sizes.queryHeads),
    rotated('key', sizes.kvHeads),
    project('value', sizes.kvHeads),
  ];
}
