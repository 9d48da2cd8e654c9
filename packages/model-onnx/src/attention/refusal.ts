/**
 * Attention that cannot be taken over, and what to do then.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { NodeProto } from 'onnx-buf';
import type { AttentionSite, UnsupportedSite } from './site.js';

/** The next step of every error about attention that cannot be cut out. */
export const FALLBACK =
  'Take the slower fallback, which leaves the graph whole and changes the past between runs: `--attention past-injection`.';

export function refused(node: NodeProto, reason: string): UnsupportedSite {
  return { node: node.name || (node.output[0] ?? ''), operator: node.opType, reason };
}

export function refusedSite({ node, form }: AttentionSite, reason: string): UnsupportedSite {
  return { node, operator: form, reason };
}

export function unsupportedSites(sites: readonly UnsupportedSite[]): LowbitKvError {
  const reasons = new Map<string, string[]>();
  for (const { node, operator, reason } of sites) {
    const key = `${operator}: ${reason}`;
    reasons.set(key, [...(reasons.get(key) ?? []), node]);
  }
  const text = [...reasons].map(([key, nodes]) => `${key} (${shortList(nodes)})`).join('; ');
  return new LowbitKvError('MODEL_UNSUPPORTED', {
    message: `attention that cannot be taken over: ${text}`,
    value: sites.length === 1 ? sites[0]?.node : `${sites.length} nodes`,
    valid: 'causal self-attention with the past as inputs of the model',
    next: FALLBACK,
  });
}

export function shortList([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

export interface KnownParts {
  readonly attributes: readonly string[];
  /** How many inputs and outputs the operator has. */
  readonly inputs: number;
  readonly outputs: number;
}

/** Operators grow: what a later version added to one may change what it computes. In words; null: all is known. */
export function unknownPart(node: NodeProto, known: KnownParts): string | null {
  const attribute = node.attribute.find(({ name }) => !known.attributes.includes(name));
  if (attribute !== undefined) return `it has an attribute that is not known: ${attribute.name}`;
  for (const kind of ['input', 'output'] as const) {
    const at = node[kind].findIndex((name, i) => name !== '' && i >= known[`${kind}s`]);
    if (at >= 0) return `it has an ${kind} that is not known, number ${at}`;
  }
  return null;
}
