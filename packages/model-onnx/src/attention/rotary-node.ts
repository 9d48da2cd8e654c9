/**
 * RotaryEmbedding nodes before an attention: where both queries and keys come from one with the same tables, the embedding
 * can be ours.
 */
import type { NodeProto } from 'onnx-buf';
import { floatAttribute, intAttribute } from './attributes.js';
import type { GraphView } from './graph-view.js';
import { constantTable } from './rotary-table.js';
import type { RotarySite } from './site.js';

export interface RotaryBefore {
  /** Names of the values before the embedding, of the layout of those after it. */
  readonly query: string;
  readonly key: string;
  readonly rotary: RotarySite;
}

/**
 * Null where the embedding has to stay in the graph: not both have one, tables that are computed or differ, positions that
 * are no graph input, a scale.
 */
export function rotaryBefore(view: GraphView, query: string, key: string): RotaryBefore | null {
  const ofQuery = rotaryNode(view, query);
  const ofKey = rotaryNode(view, key);
  if (ofQuery === null || ofKey === null) return null;
  const same =
    ofQuery.cosine === ofKey.cosine &&
    ofQuery.sine === ofKey.sine &&
    ofQuery.pairs === ofKey.pairs &&
    ofQuery.positions === ofKey.positions;
  if (!same || !view.isGraphInput(ofQuery.positions)) return null;
  const { cosine, sine, pairs } = ofQuery;
  if (constantTable(view, cosine) === null || constantTable(view, sine) === null) return null;
  return { query: ofQuery.input, key: ofKey.input, rotary: { cosine, sine, pairs } };
}

interface RotaryNode extends RotarySite {
  readonly input: string;
  readonly positions: string;
}

function rotaryNode(view: GraphView, name: string): RotaryNode | null {
  const node = view.producer(name);
  if (node?.opType !== 'RotaryEmbedding') return null;
  if (floatAttribute(node, 'scale', 1) !== 1 || intAttribute(node, 'is_packed_batching', 0) !== 0)
    return null;
  const [input, cosine, sine, positions] = inputsInOneOrder(node);
  if (input === undefined || cosine === undefined || sine === undefined || !positions) return null;
  const pairs = intAttribute(node, 'interleaved', 0) === 1 ? 'adjacent' : 'halves';
  return { input, cosine, sine, positions, pairs };
}

/** Input, cosine, sine, positions: com.microsoft has the positions second, the standard operator last. */
function inputsInOneOrder(node: NodeProto): readonly (string | undefined)[] {
  const [input, second, third, fourth] = node.input;
  return node.domain === 'com.microsoft' ? [input, third, fourth, second] : node.input;
}
