/**
 * Masks as graphs compute them from the lengths of their inputs.
 */
import { TensorProto_DataType as DataType } from 'onnx-buf';
import type { GraphWriter } from './graph-writer.js';
import { attentionMask, type LayerContext, pastOf } from './tiny-decoders.js';

/** What a query sees; all but `causal` and the windows are no masks of a decoder. `content`: what tokens are decides. */
export type Sight =
  | 'causal'
  | 'window'
  | 'wide-window'
  | 'bidirectional'
  | 'hole'
  | 'alibi'
  | 'content';

export const WINDOW = 5;
export const WIDE_WINDOW = 40;
/** A position that later queries do not see in a mask with a hole. */
const HOLE = 3;

/** What a mask of `content` hides; needs no past. */
const PADDING_TOKEN = 7;

/** Where the number of tokens of the past comes from. */
export type PastLength = 'past' | 'attention_mask' | 'none';

interface Positions {
  /** int64 `[tokens, 1]`. */
  readonly queries: string;
  /** int64 `[1, past + tokens]`. */
  readonly keys: string;
}

export function maskPositions(context: LayerContext, from: PastLength): Positions {
  const { graph } = context;
  const size = (value: string, axis: number) =>
    graph.node('Gather', [graph.node('Shape', [value]), graph.int(axis)]);
  const tokens = graph.once('token count', () => size('input_ids', 1));
  const total = graph.once('total count', () => {
    if (from === 'none') return tokens;
    if (from === 'attention_mask') return size(attentionMask(graph), 1);
    return graph.node('Add', [size(pastOf({ ...context, layer: 0 }).key, 2), tokens]);
  });
  const past = graph.once('past count', () => graph.node('Sub', [total, tokens]));
  const range = (first: string, end: string, axis: number) =>
    graph.node('Unsqueeze', [graph.node('Range', [first, end, graph.int(1)]), graph.ints(axis)]);
  return {
    queries: graph.once('query positions', () => range(past, total, 1)),
    keys: graph.once('key positions', () => range(graph.int(0), total, 0)),
  };
}

/** Boolean `[tokens, past + tokens]`: true is seen. */
export function visibleMask(context: LayerContext, sight: Sight, from: PastLength): string {
  const { graph } = context;
  return graph.once(`visible ${sight}`, () => {
    const { queries, keys } = maskPositions(context, from);
    if (sight === 'bidirectional') return graph.node('GreaterOrEqual', [keys, zerosLike(queries)]);
    const causal = graph.node('LessOrEqual', [keys, queries]);
    if (sight === 'window' || sight === 'wide-window') {
      const size = sight === 'window' ? WINDOW : WIDE_WINDOW;
      const edge = graph.node('Sub', [queries, graph.int(size)]);
      return graph.node('And', [causal, graph.node('Greater', [keys, edge])]);
    }
    if (sight === 'content') {
      const padding = graph.node('Equal', ['input_ids', graph.int(PADDING_TOKEN)]);
      return graph.node('And', [causal, graph.node('Not', [padding])]);
    }
    if (sight !== 'hole') return causal;
    const before = graph.node('Less', [queries, graph.int(HOLE + 2)]);
    const elsewhere = graph.node('Not', [graph.node('Equal', [keys, graph.int(HOLE)])]);
    return graph.node('And', [causal, graph.node('Or', [elsewhere, before])]);

    function zerosLike(value: string): string {
      return graph.node('Mul', [value, graph.int(0)]);
    }
  });
}

/** `[batch or 1, heads or 1, tokens, past + tokens]`, to be added; with the padding of `attention_mask` when it is used. */
export function addedMask(
  context: LayerContext,
  sight: Sight,
  from: PastLength,
  padding = false,
): string {
  const { graph } = context;
  return graph.once(`added ${sight} ${padding}`, () => {
    const visible = graph.node('Unsqueeze', [visibleMask(context, sight, from), graph.ints(0, 1)]);
    const seen = padding ? graph.node('And', [visible, paddingMask(graph)]) : visible;
    const mask = graph.node('Where', [seen, graph.number(0), graph.number(lowest(graph))]);
    return sight === 'alibi' ? graph.node('Add', [mask, slopes(context, from)]) : mask;
  });
}

/** Boolean `[batch, 1, 1, past + tokens]`: true is no padding. */
export function paddingMask(graph: GraphWriter): string {
  return graph.once('padding', () =>
    graph.node('Unsqueeze', [
      graph.node('Cast', [attentionMask(graph)], { attributes: { to: DataType.BOOL } }),
      graph.ints(1, 2),
    ]),
  );
}

/** The lowest finite number of the element type, as exporters take it. */
export function lowest(graph: GraphWriter): number {
  return graph.elementType === 'float16' ? -65504 : -3.4028234663852886e38;
}

/** What ALiBi adds: a slope per head times the distance. */
function slopes(context: LayerContext, from: PastLength): string {
  const { graph, sizes } = context;
  const { queries, keys } = maskPositions(context, from);
  const distance = graph.node('Cast', [graph.node('Sub', [keys, queries])], {
    attributes: { to: graph.floatDataType },
  });
  const perHead = Array.from({ length: sizes.queryHeads }, (_, head) => 2 ** -(head + 1));
  return graph.node('Mul', [distance, graph.table('slopes', [1, perHead.length, 1, 1], perHead)]);
}
