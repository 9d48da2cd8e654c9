/**
 * A decoder whose attention is the caller's: everything but rotary embedding, cache and attention is the model's own.
 */
import type { Geometry, LayerGeometry } from '@lowbit-kv/core';

/** New tokens of one sequence in one layer, f32. */
export interface LayerTensors {
  /** `[tokens, queryHeads, keyHeadDim]`, rotated. */
  readonly query: Float32Array;
  /** `[tokens, kvHeads, keyHeadDim]`, rotated. */
  readonly key: Float32Array;
  /** Before the rotary embedding; null where the model's own graph did it before the cut. */
  readonly keyPreRope: Float32Array | null;
  /** `[tokens, kvHeads, valueHeadDim]`. */
  readonly value: Float32Array;
}

/** Attention of one layer: gives `[tokens, queryHeads, valueHeadDim]`. Layers come in order. */
export type Attend = (layer: number, tensors: LayerTensors) => Promise<Float32Array>;

/** Rows of logits, `[rows, vocabularySize]`, from new token `firstRow` on. The array is the receiver's only during the call. */
export type OnLogits = (firstRow: number, logits: Float32Array) => void;

export interface ForwardOptions {
  /** Position of the first token. */
  readonly position: number;
  readonly attend: Attend;
  /** Left out: the head does not run. */
  readonly onLogits?: OnLogits;
  /** `last`: logits of the last token alone. Default `all`. */
  readonly rows?: 'all' | 'last';
}

export interface DecoderLayer {
  /** As planned: rotary is there where the decoder owns the embedding and it is one that a plan can say. */
  readonly geometry: LayerGeometry;
  /** The form of attention that was cut out. */
  readonly form: string;
}

export interface Decoder {
  readonly geometry: Geometry;
  readonly layers: readonly DecoderLayer[];
  readonly vocabularySize: number;
  /** Longest context, or null when the model does not say. */
  readonly contextLimit: number | null;
  /** SHA-256 of the model file and its external data. */
  readonly fingerprint: string;
  forward(tokens: readonly number[], options: ForwardOptions): Promise<void>;
  dispose(): Promise<void>;
}

/** The geometry of a layer. Throws RangeError for one that the decoder does not have. */
export function layerGeometry({ layers }: Pick<Decoder, 'layers'>, layer: number): LayerGeometry {
  const found = layers[layer];
  if (found === undefined) throw new RangeError(`no layer ${layer}`);
  return found.geometry;
}
