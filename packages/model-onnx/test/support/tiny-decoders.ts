/**
 * Tiny random decoders: embedding, two layers of attention and a perceptron, logits. The form of attention is given.
 */
import { clone, create } from '@bufbuild/protobuf';
import {
  TensorProto_DataType as DataType,
  type ModelProto,
  ModelProtoSchema,
  type NodeProto,
  StringStringEntryProtoSchema,
  TensorProto_DataLocation,
} from 'onnx-buf';
import { type FloatType, GraphWriter, modelBytes } from './graph-writer.js';

export interface TinySizes {
  readonly vocabulary: number;
  readonly layers: number;
  readonly hidden: number;
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** Channels of a head that the rotary embedding turns; all of them by default. */
  readonly rotaryDim?: number;
  /** Rows of the tables of the rotary embedding. */
  readonly positions: number;
}

export const TINY_SIZES: TinySizes = {
  vocabulary: 50,
  layers: 2,
  hidden: 64,
  queryHeads: 4,
  kvHeads: 2,
  headDim: 16,
  positions: 128,
};

/** What a form of attention is given to build one layer. */
export interface LayerContext {
  readonly graph: GraphWriter;
  readonly sizes: TinySizes;
  readonly layer: number;
  /** `[batch, tokens, hidden]`. */
  readonly hidden: string;
}

/** Adds the nodes of one attention; gives `[batch, tokens, queryHeads * headDim]`. */
export type AttentionForm = (context: LayerContext) => string;

export interface TinyOptions {
  readonly sizes?: Partial<TinySizes>;
  readonly elementType?: FloatType;
  readonly opset?: number;
  readonly seed?: number;
  /** Layer norms; left out, activations go in as they are. Default true. */
  readonly norm?: boolean;
}

export interface TinyDecoder {
  readonly model: ModelProto;
  readonly sizes: TinySizes;
  readonly elementType: FloatType;
}

export function tinyDecoder(form: AttentionForm, options: TinyOptions = {}): TinyDecoder {
  const sizes = { ...TINY_SIZES, ...options.sizes };
  const elementType = options.elementType ?? 'float32';
  const graph = new GraphWriter({
    elementType,
    opset: options.opset ?? 18,
    seed: options.seed ?? 1,
  });
  const norm = options.norm ?? true;
  const tokens = graph.input('input_ids', ['batch', 'tokens'], DataType.INT64);
  const embedding = graph.weights('embedding', [sizes.vocabulary, sizes.hidden], 1);
  let stream = graph.node('Gather', [embedding, tokens], { name: 'embed' });
  for (let layer = 0; layer < sizes.layers; layer++) {
    const normed = norm ? layerNorm(graph, stream, `norm_${layer}`, sizes.hidden) : stream;
    const attended = form({ graph, sizes, layer, hidden: normed });
    const width = sizes.queryHeads * sizes.headDim;
    stream = graph.node('Add', [
      stream,
      dense(graph, attended, `output_${layer}`, width, sizes.hidden),
    ]);
    stream = graph.node('Add', [stream, perceptron(graph, stream, layer, sizes.hidden, norm)]);
  }
  const last = norm ? layerNorm(graph, stream, 'norm_last', sizes.hidden) : stream;
  const head = graph.weights('head', [sizes.hidden, sizes.vocabulary], sizes.hidden ** -0.5);
  graph.node('MatMul', [last, head], { name: 'lm_head', outputs: ['logits'] });
  graph.output('logits', ['batch', 'tokens', sizes.vocabulary]);
  return { model: graph.model(), sizes, elementType };
}

/** The decoder with one of its nodes changed. */
export function withNode(
  decoder: TinyDecoder,
  name: string,
  change: (node: NodeProto) => void,
): TinyDecoder {
  const model = clone(ModelProtoSchema, decoder.model);
  const node = model.graph?.node.find((one) => one.name === name);
  if (node === undefined) throw new Error(`no node ${name}`);
  change(node);
  return { ...decoder, model };
}

/** `x W` with random weights that keep the deviation. */
export function dense(
  graph: GraphWriter,
  x: string,
  name: string,
  from: number,
  to: number,
): string {
  return graph.node('MatMul', [x, graph.weights(`${name}_weight`, [from, to], from ** -0.5)], {
    name,
  });
}

function layerNorm(graph: GraphWriter, x: string, name: string, width: number): string {
  const weight = graph.table(`${name}_weight`, [width], Array(width).fill(1));
  return graph.node('LayerNormalization', [x, weight], { name, attributes: { axis: -1 } });
}

function perceptron(
  graph: GraphWriter,
  x: string,
  layer: number,
  hidden: number,
  norm: boolean,
): string {
  const normed = norm ? layerNorm(graph, x, `norm_mlp_${layer}`, hidden) : x;
  const wide = graph.node('Relu', [dense(graph, normed, `up_${layer}`, hidden, 2 * hidden)]);
  return dense(graph, wide, `down_${layer}`, 2 * hidden, hidden);
}

type Dims = readonly (number | string)[];

/** Names of the past of a layer, as Optimum names it, declared as inputs; by default `[batch, kvHeads, past, headDim]`. */
export function pastOf(
  { graph, sizes, layer }: LayerContext,
  keyDims: Dims = ['batch', sizes.kvHeads, 'past', sizes.headDim],
  valueDims: Dims = keyDims,
): { readonly key: string; readonly value: string } {
  return {
    key: graph.input(`past_key_values.${layer}.key`, keyDims),
    value: graph.input(`past_key_values.${layer}.value`, valueDims),
  };
}

/** Names of what a layer gives back, declared as outputs; by default `[batch, kvHeads, total, headDim]`. */
export function presentOf(
  { graph, sizes, layer }: LayerContext,
  keyDims: Dims = ['batch', sizes.kvHeads, 'total', sizes.headDim],
  valueDims: Dims = keyDims,
): { readonly key: string; readonly value: string } {
  const names = { key: `present.${layer}.key`, value: `present.${layer}.value` };
  graph.output(names.key, keyDims);
  graph.output(names.value, valueDims);
  return names;
}

/** `position_ids`, `[batch, tokens]`. */
export function positionIds(graph: GraphWriter): string {
  return graph.input('position_ids', ['batch', 'tokens'], DataType.INT64);
}

/** `attention_mask`, `[batch, past + tokens]`, ones for what is no padding. */
export function attentionMask(graph: GraphWriter): string {
  return graph.input('attention_mask', ['batch', 'total'], DataType.INT64);
}

const ROTARY_BASE = 100;

/** Tables `[positions, rotaryDim / 2]` of the rotary embedding. */
export function rotaryTables({ graph, sizes }: LayerContext, base = ROTARY_BASE) {
  const pairs = (sizes.rotaryDim ?? sizes.headDim) / 2;
  const table = (kind: string, f: (angle: number) => number) => {
    const name = base === ROTARY_BASE ? kind : `${kind}_${base}`;
    return graph.once(name, () =>
      graph.table(
        name,
        [sizes.positions, pairs],
        Array.from({ length: sizes.positions * pairs }, (_, i) =>
          f(Math.floor(i / pairs) * base ** (-(i % pairs) / pairs)),
        ),
      ),
    );
  };
  return { cosine: table('cos_cache', Math.cos), sine: table('sin_cache', Math.sin) };
}

/** The model as a file, and its weights of at least `threshold` bytes in files beside it, in turns where there are several. */
export function withExternalData(
  { model }: TinyDecoder,
  locations: string | readonly string[],
  threshold = 1024,
): {
  readonly bytes: Uint8Array;
  /** Of the first location. */
  readonly data: Uint8Array;
  readonly files: Readonly<Record<string, Uint8Array>>;
} {
  const parts = [locations].flat().map((location) => ({ location, data: [] as Uint8Array[] }));
  const graph = model.graph;
  if (graph === undefined) throw new Error('the writer always makes a graph');
  let turn = 0;
  const initializer = graph.initializer.map((tensor) => {
    const part = parts[turn % parts.length];
    if (tensor.rawData.length < threshold || part === undefined) return tensor;
    turn++;
    const offset = part.data.reduce((sum, { length }) => sum + length, 0);
    const { length } = tensor.rawData;
    const entries = { location: part.location, offset: `${offset}`, length: `${length}` };
    part.data.push(tensor.rawData);
    return {
      ...tensor,
      rawData: new Uint8Array(),
      dataLocation: TensorProto_DataLocation.EXTERNAL,
      externalData: Object.entries(entries).map(([key, value]) =>
        create(StringStringEntryProtoSchema, { key, value }),
      ),
    };
  });
  const files = parts.map(({ location, data }) => [location, Buffer.concat(data)] as const);
  return {
    bytes: modelBytes({ ...model, graph: { ...graph, initializer } }),
    data: files[0]?.[1] ?? new Uint8Array(),
    files: Object.fromEntries(files),
  };
}
