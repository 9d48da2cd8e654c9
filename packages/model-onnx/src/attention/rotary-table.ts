/**
 * Tables of a rotary embedding: an initializer, or one of two that an If chooses by the length of the context (LongRoPE).
 */
import type { NodeProto, TensorProto } from 'onnx-buf';
import { attributeOf } from './attributes.js';
import type { GraphView } from './graph-view.js';
import { dependsOnTokens } from './sources.js';

export interface ConstantTable {
  /** `[positions, pairs]`. */
  readonly tensor: TensorProto;
  /** Longest context for which it is the right one; null: all its positions. */
  readonly limit: number | null;
}

/** Of two tables the one of short contexts. Null where the table is computed. */
export function constantTable(view: GraphView, name: string): ConstantTable | null {
  const tensor = view.constant(name);
  if (tensor !== null) return tensor.dims.length === 2 ? { tensor, limit: null } : null;
  const node = view.producer(name);
  return node?.opType === 'If' ? shortTable(view, node, node.output.indexOf(name)) : null;
}

/** Of `If (length > limit)`, where both branches have constants alone. */
function shortTable(view: GraphView, node: NodeProto, output: number): ConstantTable | null {
  const condition = view.producer(node.input[0] ?? '');
  if (condition?.opType !== 'Greater') return null;
  const [length = '', bound = ''] = condition.input;
  const limit = view.scalar(bound);
  if (limit === null || dependsOnTokens(view, length)) return null;
  const graph = attributeOf(node, 'else_branch')?.g;
  const name = graph?.output[output]?.name;
  const inner = graph?.node.find((made) => name !== undefined && made.output.includes(name));
  const tensor =
    graph?.initializer.find((one) => one.name === name) ??
    (inner?.opType === 'Constant' ? attributeOf(inner, 'value')?.t : undefined);
  return tensor?.dims.length === 2 ? { tensor, limit } : null;
}
