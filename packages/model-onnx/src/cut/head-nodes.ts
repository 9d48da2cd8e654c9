/**
 * The nodes that make logits of the last states: a product with the vocabulary, and what is done to its results. Logits are
 * the largest values of a decoder; by themselves they can be made for some tokens at a time.
 */
import type { NodeProto } from 'onnx-buf';
import { intAttribute } from '../attention/attributes.js';
import { type GraphView, inputsOf } from '../attention/graph-view.js';

/** Operators of one value that work on every token by itself, as in a soft cap or a scale of logits. */
const BY_ELEMENT = new Set(['Identity', 'Cast', 'Add', 'Sub', 'Mul', 'Div', 'Tanh', 'Clip']);
const PRODUCTS = new Set(['MatMul', 'FusedMatMul', 'MatMulNBits']);

/** From the logits back. Empty where they are made in another way: `level` is below 0 for constants. */
export function headNodes(
  view: GraphView,
  logits: string,
  level: (name: string) => number,
): readonly NodeProto[] {
  const nodes: NodeProto[] = [];
  for (let name = logits; ; ) {
    const node = view.producer(name);
    if (node === null || node.output.length !== 1) return [];
    const [states, ...others] = inputsOf(node).filter((input) => level(input) >= 0);
    if (states === undefined || others.length > 0 || level(states) !== level(logits)) return [];
    nodes.push(node);
    // Products with constants on the left would mix tokens.
    if (PRODUCTS.has(node.opType))
      return states === node.input[0] && intAttribute(node, 'transA', 0) === 0 ? nodes : [];
    if (!BY_ELEMENT.has(node.opType)) return [];
    name = states;
  }
}
