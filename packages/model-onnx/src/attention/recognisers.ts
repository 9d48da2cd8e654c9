/**
 * The forms of attention that are recognised, in the order they are tried.
 */
import type { NodeProto } from 'onnx-buf';
import type { ModelConfig } from '../model/config.js';
import type { GraphView } from './graph-view.js';
import { recogniseGroupQuery } from './group-query.js';
import type { AttentionSite, UnsupportedSite } from './site.js';

/** Null when the node is not of this form. */
export type Recogniser = (
  view: GraphView,
  node: NodeProto,
  config: ModelConfig,
) => AttentionSite | UnsupportedSite | null;

export const RECOGNISERS: readonly Recogniser[] = [recogniseGroupQuery];
