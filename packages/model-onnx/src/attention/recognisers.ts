/**
 * The forms of attention that are recognised, in the order they are tried.
 */
import type { NodeProto } from 'onnx-buf';
import type { ModelConfig } from '../model/config.js';
import { recogniseDecomposed } from './decomposed.js';
import type { GraphView } from './graph-view.js';
import { recogniseGroupQuery } from './group-query.js';
import { recogniseMultiHead } from './multi-head.js';
import type { AttentionSite, UnsupportedSite } from './site.js';
import { recogniseStandard } from './standard.js';

/** Null when the node is not of this form. */
export type Recogniser = (
  view: GraphView,
  node: NodeProto,
  config: ModelConfig,
) => AttentionSite | UnsupportedSite | null;

export const RECOGNISERS: readonly Recogniser[] = [
  recogniseGroupQuery,
  recogniseMultiHead,
  recogniseStandard,
  recogniseDecomposed,
];
