/**
 * What happens to logits between the product of queries and keys and their softmax: scale, soft cap, masks.
 */
import type { NodeProto } from 'onnx-buf';
import { tensorNumbers } from '../model/tensor-numbers.js';
import { attributeOf, floatAttribute } from './attributes.js';
import type { GraphView } from './graph-view.js';
import { scaledOperand } from './heads-path.js';
import { NEVER_SEEN } from './mask-limit.js';
import type { MaskValue } from './site.js';
import { sourcesOf } from './sources.js';
import { StaticShapes } from './static-shape.js';

export interface Scores {
  /** Product of queries and keys. */
  readonly product: NodeProto;
  /** Factors before a soft cap, and of a soft cap and all after it. */
  readonly scale: number;
  readonly capScale: number;
  readonly capped: boolean;
  readonly masks: readonly MaskValue[];
  /** Why the logits cannot be taken over, in words. */
  readonly refusal: string | null;
}

/** Null where the value does not come from such a product by these steps. */
export function scoresOf(view: GraphView, name: string): Scores | null {
  const node = view.producer(name);
  const inputs = node?.input ?? [];
  switch (node?.opType) {
    case 'MatMul':
    case 'FusedMatMul':
      return isProduct(view, node) ? productScores(node) : null;
    case 'Identity':
    case 'Cast':
      return scoresOf(view, inputs[0] ?? '');
    case 'Mul':
    case 'Div': {
      const scaled = scaledOperand(view, node);
      const inner = scaled && scoresOf(view, scaled.name);
      return inner && times(inner, scaled.factor);
    }
    case 'Tanh': {
      const inner = scoresOf(view, inputs[0] ?? '');
      if (inner === null) return null;
      const refusal = inner.capped ? 'its logits are capped twice' : afterMask(inner, 'capped');
      return { ...inner, capped: true, refusal: inner.refusal ?? refusal };
    }
    case 'Add':
      return addedTo(view, inputs[0], inputs[1]) ?? addedTo(view, inputs[1], inputs[0]);
    case 'Where':
      return (
        filled(view, inputs, { scores: 1, fill: 2, kind: 'boolean' }) ??
        filled(view, inputs, { scores: 2, fill: 1, kind: 'hidden' })
      );
    case 'Max':
      return inputs.length === 2 && isNeverSeen(view, inputs[1])
        ? scoresOf(view, inputs[0] ?? '')
        : null;
    default:
      return null;
  }
}

/** A matrix product of two values that both depend on inputs; those of weights are none. */
export function isProduct(view: GraphView, node: NodeProto): boolean {
  return node.input
    .slice(0, 2)
    .every((name) => view.constant(name) === null && sourcesOf(view, name).size > 0);
}

function productScores(product: NodeProto): Scores {
  const turned = ['transA', 'transBatchA', 'transBatchB'].some(
    (name) => Number(attributeOf(product, name)?.i ?? 0) !== 0,
  );
  return {
    product,
    scale: product.opType === 'FusedMatMul' ? floatAttribute(product, 'alpha', 1) : 1,
    capScale: 1,
    capped: false,
    masks: [],
    refusal: turned ? 'its product turns more than the keys' : null,
  };
}

function times(scores: Scores, factor: number): Scores {
  const refusal = scores.refusal ?? afterMask(scores, 'scaled');
  return scores.capped
    ? { ...scores, refusal, capScale: scores.capScale * factor }
    : { ...scores, refusal, scale: scores.scale * factor };
}

function afterMask({ masks }: Scores, what: string): string | null {
  return masks.length === 0 ? null : `its logits are ${what} after a mask was applied`;
}

function addedTo(view: GraphView, scores = '', mask = ''): Scores | null {
  const inner = scoresOf(view, scores);
  return inner && { ...inner, masks: [...inner.masks, { name: mask, kind: 'added' }] };
}

function filled(
  view: GraphView,
  inputs: readonly string[],
  where: {
    readonly scores: number;
    readonly fill: number;
    readonly kind: 'boolean' | 'hidden';
  },
): Scores | null {
  if (!isNeverSeen(view, inputs[where.fill])) return null;
  const inner = scoresOf(view, inputs[where.scores] ?? '');
  const [name = ''] = inputs;
  return inner && { ...inner, masks: [...inner.masks, { name, kind: where.kind }] };
}

/** A constant, also one that is filled or expanded into a shape, too low for any weight. */
function isNeverSeen(view: GraphView, name = ''): boolean {
  const node = view.producer(name);
  if (node?.opType === 'ConstantOfShape') {
    const value = attributeOf(node, 'value')?.t;
    return value !== undefined && (tensorNumbers(value)?.[0] ?? 0) <= NEVER_SEEN;
  }
  if (node?.opType === 'Expand' || node?.opType === 'Cast') return isNeverSeen(view, node.input[0]);
  const number = StaticShapes.of(view).number(name);
  return number !== null && number <= NEVER_SEEN;
}
