/**
 * Captures: keys, values and queries of real attention layers, in a safetensors file.
 * The format is described in docs/capture-format.md.
 */
import { encodeF16, f16ToF32, LowbitKvError } from '@lowbit-kv/core';
import { type CaptureTensorPlace, requireFiniteF16, requireFiniteF32 } from './capture-finite.js';
import {
  type CaptureIndex,
  type CapturePart,
  type CaptureShape,
  captureTensor,
  indexCapture,
} from './capture-index.js';
import { checkCaptureMetadata } from './capture-metadata.js';
import type { SafetensorsFile } from './safetensors.js';

/** One layer's tensors, row-major, batch 1. */
export interface CaptureLayer {
  /** Layer number of the model. */
  readonly index: number;
  /** f16 bits, [kvHeads, tokens, keyHeadDim], after RoPE. */
  readonly key: Uint16Array;
  /** f16 bits, [kvHeads, tokens, valueHeadDim]. */
  readonly value: Uint16Array;
  /** As stored, widened: [queryHeads, queries, keyHeadDim], after RoPE, the last positions. */
  readonly query: Float32Array;
  /** f16 bits, as `key`, before RoPE; absent when the capture has none. */
  readonly keyPreRope?: Uint16Array;
}

/**
 * The capture that a file holds, everything checked but the values. The capture closes the file, also when this throws
 * CAPTURE_INVALID.
 */
export async function readCapture(file: SafetensorsFile): Promise<Capture> {
  try {
    const index = indexCapture(file);
    return new Capture(file, index, checkCaptureMetadata(file, index));
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** An open capture. Close it after use. */
export class Capture implements CaptureShape {
  /** The path, or a label for bytes in memory. */
  readonly file: string;
  /** Layer numbers of the model, ascending. */
  readonly layers: readonly number[];
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly keyHeadDim: number;
  readonly valueHeadDim: number;
  readonly tokens: number;
  readonly queries: number;
  /** Factor of q.k before the softmax. */
  readonly scale: number;
  readonly hasKeyPreRope: boolean;
  /** All metadata of the file: model, text, positions and what else the writer noted. */
  readonly provenance: Readonly<Record<string, string>>;
  readonly #file: SafetensorsFile;

  /** Use openCapture or openCaptureBlob. */
  constructor(file: SafetensorsFile, index: CaptureIndex, scale: number) {
    this.#file = file;
    this.file = file.file;
    this.layers = index.layers;
    this.queryHeads = index.shape.queryHeads;
    this.kvHeads = index.shape.kvHeads;
    this.keyHeadDim = index.shape.keyHeadDim;
    this.valueHeadDim = index.shape.valueHeadDim;
    this.tokens = index.shape.tokens;
    this.queries = index.shape.queries;
    this.scale = scale;
    this.hasKeyPreRope = index.hasKeyPreRope;
    this.provenance = Object.freeze(Object.fromEntries(file.metadata));
  }

  /**
   * Reads one layer by its number in the model. Errors: NON_FINITE naming file, tensor, layer, head,
   * token and channel; OPTION_INVALID for a layer that was not captured.
   */
  async readLayer(index: number): Promise<CaptureLayer> {
    if (!this.layers.includes(index)) {
      throw new LowbitKvError('OPTION_INVALID', {
        message: 'the capture does not hold this layer',
        value: index,
        valid: this.layers,
        next: 'Choose a layer that was captured.',
        where: { file: this.file },
      });
    }
    const key = await this.#readCached(index, 'key');
    const value = await this.#readCached(index, 'value');
    const query = await this.#file.readF32(captureTensor(index, 'query'));
    requireFiniteF32(query, this.#place(index, 'query'));
    if (!this.hasKeyPreRope) return { index, key, value, query };
    return { index, key, value, query, keyPreRope: await this.#readCached(index, 'key_pre_rope') };
  }

  /** Releases the file. Reading afterwards is an error, closing again is not. */
  async close(): Promise<void> {
    await this.#file.close();
  }

  /** A tensor that goes into a cache: f16 bits, rounded once, as a cache does on append. */
  async #readCached(layer: number, part: CapturePart): Promise<Uint16Array> {
    const place = this.#place(layer, part);
    if (this.#file.tensors.get(place.tensor)?.dtype === 'F16') {
      const bits = await this.#file.readF16(place.tensor);
      requireFiniteF16(bits, place, (i) => f16ToF32(bits[i] as number));
      return bits;
    }
    const values = await this.#file.readF32(place.tensor);
    const bits = encodeF16(values);
    requireFiniteF16(bits, place, (i) => values[i] as number);
    return bits;
  }

  #place(layer: number, part: CapturePart): CaptureTensorPlace {
    const tensor = captureTensor(layer, part);
    return {
      file: this.file,
      tensor,
      layer,
      shape: this.#file.tensors.get(tensor)?.shape ?? [],
      firstToken: part === 'query' ? this.tokens - this.queries : 0,
    };
  }
}
