/**
 * Finds the attention of every layer of a graph.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { NodeProto } from 'onnx-buf';
import type { ModelConfig } from '../model/config.js';
import { type GraphView, subgraphsOf } from './graph-view.js';
import { RECOGNISERS } from './recognisers.js';
import type { AttentionSite, UnsupportedSite } from './site.js';

/** In the order of the graph. Throws MODEL_UNSUPPORTED when there is none, or one that cannot be taken over. */
export function findSites(view: GraphView, config: ModelConfig): AttentionSite[] {
  const sites: AttentionSite[] = [];
  const refused: UnsupportedSite[] = [];
  for (const node of view.graph.node) {
    const found = recognise(view, node, config);
    if (found === null) continue;
    if ('reason' in found) refused.push(found);
    else sites.push(found);
  }
  if (refused.length > 0) throw unsupportedSites(refused);
  if (sites.length > 0) return sites;
  throw new LowbitKvError('MODEL_UNSUPPORTED', {
    message: 'no attention was found in the graph',
    value: [...new Set(view.graph.node.map((node) => node.opType))].sort(),
    valid: 'a decoder with attention of a known form',
    next: FALLBACK,
  });
}

const FALLBACK =
  'Take the fallback `past-injection`: it leaves the graph whole and changes the past between runs.';

export function unsupportedSites(refused: readonly UnsupportedSite[]): LowbitKvError {
  const reasons = new Map<string, string[]>();
  for (const { node, operator, reason } of refused) {
    const key = `${operator}: ${reason}`;
    reasons.set(key, [...(reasons.get(key) ?? []), node]);
  }
  const text = [...reasons].map(([key, nodes]) => `${key} (${shortList(nodes)})`).join('; ');
  return new LowbitKvError('MODEL_UNSUPPORTED', {
    message: `attention that cannot be taken over: ${text}`,
    value: refused.length === 1 ? refused[0]?.node : `${refused.length} nodes`,
    valid: 'causal self-attention with the past as inputs of the model',
    next: FALLBACK,
  });
}

function shortList(nodes: readonly string[]): string {
  const [first = '', second] = nodes;
  return second === undefined ? first : `${first} and ${nodes.length - 1} more`;
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
  const refuse = (reason: string): UnsupportedSite => ({
    node: node.name,
    operator: node.opType,
    reason,
  });
  if (node.opType.includes('Attention')) return refuse('this operator is not known');
  return subgraphsOf(node).some((graph) => graph.node.some(attends))
    ? refuse('attention lies inside its subgraph, as in merged decoders')
    : null;
}

function attends(node: NodeProto): boolean {
  if (node.opType.includes('Attention') || node.opType === 'Softmax') return true;
  return subgraphsOf(node).some((graph) => graph.node.some(attends));
}
