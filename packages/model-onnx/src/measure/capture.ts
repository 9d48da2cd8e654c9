/**
 * Captures: keys, values and queries of some layers over a text, as a file that `compare` and other tools read.
 */
import {
  encodeF16,
  f16Tensor,
  type HostTensor,
  LowbitKvError,
  type RotaryEmbedding,
  toBatched,
} from '@lowbit-kv/core';
import {
  CAPTURE_FORMAT,
  CAPTURE_VERSION,
  type TensorToWrite,
  writeSafetensors,
} from '@lowbit-kv/harness';
import { type Decoder, type LayerTensors, layerGeometry } from '../decoder/decoder.js';
import type { AttentionSessions } from '../replay/attention-graph.js';
import { plainAttend } from '../replay/plain-attention.js';

export interface CaptureOptions {
  /** Layers to capture; they must agree in heads and dims, as a capture has one shape. */
  readonly layers: readonly number[];
  /** The last so many positions have their queries captured. */
  readonly queries: number;
  /** Keys before the rotary embedding, too. Throws MODEL_UNSUPPORTED where the model does not give them. */
  readonly preRope: boolean;
  /** Model, text and the like, for the file's metadata. */
  readonly provenance: Readonly<Record<string, string>>;
  /** After each layer of the model. */
  readonly onLayer?: (layer: number, layers: number) => void;
  /** Stops within a layer or the writing of a tensor, with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Runs the text through the model once, in f32, and writes the capture: whole or not at all. Throws the signal's reason. */
export async function captureModel(
  decoder: Decoder,
  sessions: AttentionSessions,
  tokens: readonly number[],
  path: string,
  options: CaptureOptions,
): Promise<void> {
  const { layers, queries, preRope, provenance, onLayer, signal } = options;
  checkLayers(decoder, layers, tokens.length);
  checkQueries(queries, tokens.length);
  const attend = plainAttend(decoder, sessions);
  const tensors: TensorToWrite[] = [];
  await decoder.forward(tokens, {
    position: 0,
    attend: async (layer, given) => {
      signal?.throwIfAborted();
      if (layers.includes(layer))
        tensors.push(...tensorsOf(decoder, layer, given, tokens.length, queries, preRope));
      const output = await attend(layer, given);
      onLayer?.(layer + 1, decoder.layers.length);
      return output;
    },
  });
  await writeSafetensors(
    path,
    tensors.map((tensor) => stoppable(tensor, signal)),
    {
      ...provenance,
      ...metadataOf(decoder, layers, tokens.length, queries),
    },
  );
}

/** Its data are not given once the signal has fired. */
function stoppable(tensor: TensorToWrite, signal: AbortSignal | undefined): TensorToWrite {
  const { data } = tensor;
  if (signal === undefined || !ArrayBuffer.isView(data)) return tensor;
  return {
    ...tensor,
    data: (function* () {
      signal.throwIfAborted();
      yield data;
    })(),
  };
}

function tensorsOf(
  decoder: Decoder,
  layer: number,
  { query, key, value, keyPreRope }: LayerTensors,
  tokens: number,
  queries: number,
  preRope: boolean,
): TensorToWrite[] {
  const geometry = layerGeometry(decoder, layer);
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = geometry;
  const row = queryHeads * keyHeadDim;
  const parts = [
    named('key', key, [tokens, kvHeads, keyHeadDim]),
    named('value', value, [tokens, kvHeads, valueHeadDim]),
    named('query', query.subarray((tokens - queries) * row), [queries, queryHeads, keyHeadDim]),
  ];
  if (preRope) {
    if (keyPreRope === null) throw noPreRope(layer);
    parts.push(named('key_pre_rope', keyPreRope, [tokens, kvHeads, keyHeadDim]));
  }
  return parts.map(({ part, tensor }) => ({
    name: `layers.${layer}.${part}`,
    dtype: 'F16' as const,
    shape: tensor.shape,
    data: tensor.data,
  }));
}

/** `[tokens, heads, dim]` as f16 `[1, heads, tokens, dim]`. */
function named(part: string, rows: Float32Array, shape: readonly number[]) {
  const tensor: HostTensor = toBatched(f16Tensor(encodeF16(rows), shape), 1);
  return { part, tensor };
}

function metadataOf(
  { layers: all, geometry }: Decoder,
  layers: readonly number[],
  tokens: number,
  queries: number,
): Record<string, string> {
  const shape = layerGeometry({ layers: all }, layers[0] as number);
  const { keyHeadDim, valueHeadDim } = shape;
  return {
    format: CAPTURE_FORMAT,
    version: CAPTURE_VERSION,
    layers: JSON.stringify([...layers].sort((a, b) => a - b)),
    model_layers: String(geometry.layers),
    query_heads: String(shape.queryHeads),
    kv_heads: String(shape.kvHeads),
    ...(keyHeadDim === valueHeadDim
      ? { head_dim: String(keyHeadDim) }
      : { key_head_dim: String(keyHeadDim), value_head_dim: String(valueHeadDim) }),
    tokens: String(tokens),
    query_tokens: String(queries),
    positions: `0..${tokens - 1}`,
    scale: String(shape.scale),
    ...rotaryMetadata(shape.rotary),
  };
}

function rotaryMetadata(rotary: RotaryEmbedding | null): Record<string, string> {
  if (rotary === null) return {};
  return {
    rope_style: rotary.pairs === 'halves' ? 'half-split' : 'interleaved',
    rope_frequencies: JSON.stringify(rotary.frequencies),
  };
}

function checkLayers({ layers: all }: Decoder, layers: readonly number[], tokens: number): void {
  const refuse = (message: string, value: unknown, valid: string): never => {
    throw new LowbitKvError('OPTION_INVALID', {
      message,
      value,
      valid,
      next: 'Correct the list of layers.',
      where: { field: 'layers' },
    });
  };
  const known = (layer: number) => Number.isSafeInteger(layer) && all[layer] !== undefined;
  if (layers.length === 0 || !layers.every(known) || new Set(layers).size !== layers.length)
    refuse('no such layers', layers, `different numbers from 0 to ${all.length - 1}`);
  for (const layer of layers) {
    const { softCap, slidingWindow } = layerGeometry({ layers: all }, layer);
    if (softCap !== null || (slidingWindow !== null && slidingWindow.size < tokens))
      refuse(
        `a capture cannot say that layer ${layer} has a soft cap or sees a sliding window only`,
        { softCap, slidingWindow },
        'layers that see everything, without a soft cap',
      );
  }
  const shapeOf = (layer: number) => {
    const shape = layerGeometry({ layers: all }, layer);
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, rotary } = shape;
    return JSON.stringify({ queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, rotary });
  };
  const first = shapeOf(layers[0] as number);
  const other = layers.find((layer) => shapeOf(layer) !== first);
  if (other !== undefined)
    refuse(
      `layer ${other} has another shape than layer ${layers[0]}`,
      layers,
      'layers of one shape',
    );
}

function checkQueries(queries: number, tokens: number): void {
  if (Number.isSafeInteger(queries) && queries >= 1 && queries <= tokens) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'the number of captured queries does not fit the tokens',
    value: queries,
    valid: `1 to ${tokens}`,
    next: 'Capture more tokens or fewer queries.',
    where: { field: 'queries' },
  });
}

function noPreRope(layer: number): LowbitKvError {
  return new LowbitKvError('MODEL_UNSUPPORTED', {
    message: 'the model gives its keys after the rotary embedding only',
    value: 'key_pre_rope',
    valid: 'a capture without keys before RoPE',
    next: 'Leave them out, or export the model with the embedding inside of attention.',
    where: { layer },
  });
}
