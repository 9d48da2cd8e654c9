/**
 * From a Softmax to the product of its weights and values.
 */
import type { NodeProto } from 'onnx-buf';
import { floatAttribute, intAttribute } from './attributes.js';
import { isProduct } from './decomposed-scores.js';
import type { GraphView } from './graph-view.js';
import { StaticShapes } from './static-shape.js';

export interface Weighted {
  /** Values as the product reads them. */
  readonly values: string;
  /** Result of the product. */
  readonly output: string;
  /** Why the weights cannot be taken over, in words. */
  readonly refusal: string | null;
}

/** Null where the weights do not come to a product by casts and a guard against NaN alone. */
export function weightedBy(view: GraphView, weights: string): Weighted | null {
  const guard = guardOf(view, weights);
  if (guard !== null) return weightedBy(view, guard);
  const readers = view.consumers(weights);
  for (const node of readers) {
    const [first, values = ''] = node.input;
    const [output = ''] = node.output;
    if (PASSING.has(node.opType)) {
      const further = weightedBy(view, output);
      if (further !== null) return { ...further, refusal: further.refusal ?? elsewhere(readers) };
    }
    if (!PRODUCTS.has(node.opType) || first !== weights || !isProduct(view, node)) continue;
    return { values, output, refusal: turned(node) ?? elsewhere(readers) ?? shown(view, weights) };
  }
  return null;
}

const PASSING = new Set(['Cast', 'Identity', 'Dropout']);
const PRODUCTS = new Set(['MatMul', 'FusedMatMul']);

/** Result of `Where(IsNaN(weights), 0, weights)`: 0 for a query that sees nothing, of which a decoder has none. */
function guardOf(view: GraphView, weights: string): string | null {
  const test = view.consumers(weights).find((node) => node.opType === 'IsNaN')?.output[0];
  const guard = view
    .consumers(weights)
    .find(({ opType, input }) => opType === 'Where' && input[0] === test && input[2] === weights);
  const zero = guard && StaticShapes.of(view).number(guard.input[1] ?? '') === 0;
  return zero ? (guard.output[0] ?? '') : null;
}

function turned(node: NodeProto): string | null {
  const plain =
    node.opType === 'MatMul' ||
    (floatAttribute(node, 'alpha', 1) === 1 &&
      ['transA', 'transB', 'transBatchA', 'transBatchB'].every(
        (name) => intAttribute(node, name, 0) === 0,
      ));
  return plain ? null : 'its product with values scales or turns';
}

function elsewhere(readers: readonly NodeProto[]): string | null {
  return readers.length === 1 ? null : 'other nodes read its weights too';
}

function shown(view: GraphView, weights: string): string | null {
  const given = view.graph.output.some((output) => output.name === weights);
  return given ? 'it gives out its attention weights' : null;
}
