/**
 * Whether a Softmax is one of attention, whatever lies around it: those of routers and of samplers are none.
 */
import type { NodeProto } from 'onnx-buf';
import { isProduct } from './decomposed-scores.js';
import { type GraphView, inputsOf } from './graph-view.js';

const PRODUCTS = new Set([
  'MatMul',
  'FusedMatMul',
  'TransposeMatMul',
  'MatMulInteger',
  'MatMulIntegerToFloat',
  'DynamicQuantizeMatMul',
  'QLinearMatMul',
  'MatMulNBits',
  'Gemm',
  'Einsum',
]);

/** Nodes between a product and a Softmax, in exports that were seen 6 at most. */
const FARTHEST = 12;

/** Its logits come from a product of two values of the model, and its weights go to another. */
export function looksLikeAttention(view: GraphView, node: NodeProto): boolean {
  const before = (at: NodeProto) =>
    inputsOf(at)
      .map((name) => view.producer(name))
      .filter((found) => found !== null);
  const behind = (at: NodeProto) => at.output.flatMap((name) => view.consumers(name));
  return meetsProduct(view, node, before) && meetsProduct(view, node, behind);
}

/** The search ends at products of any kind. */
function meetsProduct(
  view: GraphView,
  from: NodeProto,
  next: (node: NodeProto) => readonly NodeProto[],
): boolean {
  const seen = new Set<NodeProto>([from]);
  let edge = [from];
  for (let distance = 0; distance < FARTHEST && edge.length > 0; distance++) {
    const reached = edge.flatMap(next).filter((node) => !seen.has(node));
    for (const node of reached) seen.add(node);
    if (reached.some((node) => PRODUCTS.has(node.opType) && isProduct(view, node))) return true;
    edge = [...new Set(reached)].filter((node) => !PRODUCTS.has(node.opType));
  }
  return false;
}
