/**
 * Finds the attention of every layer of a graph.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { NodeProto } from 'onnx-buf';
import type { ModelConfig } from '../model/config.js';
import { type GraphView, subgraphsOf } from './graph-view.js';
import { RECOGNISERS } from './recognisers.js';
import { FALLBACK, refused, refusedSite, shortList, unsupportedSites } from './refusal.js';
import type { AttentionSite, UnsupportedSite } from './site.js';

/** In the order of the graph. Throws MODEL_UNSUPPORTED when there is none, or one that cannot be taken over. */
export function findSites(view: GraphView, config: ModelConfig): AttentionSite[] {
  const sites: AttentionSite[] = [];
  const unsupported: UnsupportedSite[] = [];
  for (const node of view.graph.node) {
    const found = recognise(view, node, config);
    if (found === null) continue;
    if ('reason' in found) unsupported.push(found);
    else if (hasSizes(found)) sites.push(found);
    else unsupported.push(refusedSite(found, 'its numbers of heads and channels are no sizes'));
  }
  if (unsupported.length > 0) throw unsupportedSites(unsupported);
  if (sites.length > 0) return sites;
  const near = candidates(view);
  throw new LowbitKvError('MODEL_UNSUPPORTED', {
    message: `no attention was found in the graph${near.length > 0 ? `; nodes that may be its parts: ${shortList(near)}` : ''}`,
    value: near.length > 0 ? near.slice(0, NAMED) : operatorsOf(view),
    valid: 'a decoder with attention of a known form',
    next: FALLBACK,
  });
}

/** Candidates that an error names. */
const NAMED = 8;

function operatorsOf(view: GraphView): string[] {
  return [...new Set(view.graph.node.map((node) => node.opType))].sort();
}

function recognise(
  view: GraphView,
  node: NodeProto,
  config: ModelConfig,
): AttentionSite | UnsupportedSite | null {
  for (const recogniser of RECOGNISERS) {
    const found = recogniser(view, node, config);
    if (found !== null) return found;
  }
  if (ATTENTION.test(node.opType)) return refused(node, 'this operator is not known');
  return subgraphsOf(node).some((graph) => graph.node.some(attends))
    ? refused(node, 'attention lies inside its subgraph, as in merged decoders')
    : null;
}

/** Attributes and shapes of a damaged file say anything. */
function hasSizes({ geometry }: AttentionSite): boolean {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = geometry;
  const sizes = [queryHeads, kvHeads, keyHeadDim, valueHeadDim];
  return sizes.every((size) => Number.isSafeInteger(size) && size > 0);
}

/** Also names of functions that exporters leave in the model. */
const ATTENTION = /attention/i;

function attends(node: NodeProto): boolean {
  if (ATTENTION.test(node.opType) || node.opType === 'Softmax') return true;
  return subgraphsOf(node).some((graph) => graph.node.some(attends));
}

/** Nodes that may be what was sought: every Softmax, and what reads a past. */
function candidates(view: GraphView): string[] {
  const pasts = view.graph.input.filter(({ name }) => /past|cache/.test(name));
  const readers = pasts.flatMap(({ name }) => view.consumers(name));
  const nodes = view.graph.node.filter(
    (node) => node.opType === 'Softmax' || readers.includes(node),
  );
  return nodes.map((node) => `${node.opType} ${node.name || node.output[0]}`);
}
