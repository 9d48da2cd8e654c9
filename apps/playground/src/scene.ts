/** What panels are given: the choices of the visitor, made to fit the data, and what was computed for them. */
import type { Scheme } from '@lowbit-kv/core';
import type { ExactAttention, LayerTensors } from '@lowbit-kv/harness/browser';
import type { Dataset } from './data/dataset.js';
import type { Milliseconds, SchemeRun } from './run/run-scheme.js';
import type { Change, Settings, TensorName } from './settings.js';
import type { Resource } from './use-resource.js';

/** Indices that exist in the data. */
export interface Selection {
  readonly layer: number;
  readonly kvHead: number;
  readonly tensor: TensorName;
  readonly token: number;
  readonly channel: number;
  readonly query: number;
  /** Of the layer. */
  readonly queryHead: number;
}

/** One of the schemes that stand side by side. */
export interface SchemeEntry {
  readonly letter: 'A' | 'B' | 'C';
  /** As in the settings. */
  readonly choice: string;
  /** Null where the visitor's own scheme is not valid. */
  readonly scheme: Scheme | null;
  readonly run: Resource<SchemeRun>;
  /** On the backend that was not chosen. Null where there is none. */
  readonly other: Resource<Milliseconds & { readonly sameBytes: boolean }> | null;
}

export interface Scene {
  readonly settings: Settings;
  readonly change: Change;
  readonly selection: Selection;
  readonly data: Dataset | null;
  readonly layer: LayerTensors | null;
  readonly exact: ExactAttention | null;
  readonly entries: readonly SchemeEntry[];
}

export function selectionOf(settings: Settings, data: Dataset | null): Selection {
  const { layer, kvHead, tensor, token, channel, query, queryHead } = settings;
  if (data === null) return { layer, kvHead, tensor, token, channel, query, queryHead };
  const { sizes, layers } = data;
  const group = sizes.queryHeads / sizes.kvHeads;
  const head = Math.min(kvHead, sizes.kvHeads - 1);
  const channels = tensor === 'key' ? sizes.keyHeadDim : sizes.valueHeadDim;
  return {
    layer: layers.includes(layer) ? layer : (layers[0] as number),
    kvHead: head,
    tensor,
    token: Math.min(token, sizes.tokens - 1),
    channel: Math.min(channel, channels - 1),
    query: Math.min(query, sizes.queries - 1),
    queryHead: head * group + Math.min(queryHead, group - 1),
  };
}
