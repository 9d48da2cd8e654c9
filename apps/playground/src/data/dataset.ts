/** Where keys, values and queries come from: one interface for captures and generated numbers. */
import type { Geometry } from '@lowbit-kv/core';
import type {
  CaptureRotary,
  CaptureSizes,
  LayerTensors,
  NoRotary,
} from '@lowbit-kv/harness/browser';

export interface Dataset {
  readonly name: string;
  /** What is known about it, for reading. */
  readonly facts: readonly (readonly [name: string, text: string])[];
  /** Numbers of the layers in the model, rising. */
  readonly layers: readonly number[];
  /** Layers of the whole model; where that is unknown, up to the last one that is here. */
  readonly modelLayers: number;
  readonly sizes: CaptureSizes;
  readonly rotary: CaptureRotary | NoRotary;
  /** Of one layer. */
  readonly geometry: Geometry;
  readLayer(layer: number): Promise<LayerTensors>;
}

/** Queries that are kept: those of the last tokens. */
export const KEPT_QUERIES = 32;

/** Elements of keys and values of one layer that the page takes: beyond, a browser tab stands still. */
export const MOST_ELEMENTS = 2 ** 23;
