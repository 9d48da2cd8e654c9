/**
 * The past of an attention operator: two inputs one after the other, and the results behind the first.
 */
import type { NodeProto } from 'onnx-buf';
import type { GraphView } from './graph-view.js';
import type { AttentionSite } from './site.js';

/** `firstInput`: number of the input of past keys. A reason where the past is not the model's own input and output. */
export function pastOfNode(
  view: GraphView,
  node: NodeProto,
  firstInput: number,
): AttentionSite['past'] | { readonly reason: string } {
  const given = (names: readonly string[]) => names.filter((name) => name !== '');
  const inputs = given(node.input.slice(firstInput, firstInput + 2));
  const outputs = given(node.output.slice(1, 3));
  if (inputs.some((name) => !view.isGraphInput(name)))
    return {
      reason:
        'its past is no input of the model, as in cross attention or in layers that share a cache',
    };
  if (outputs.some((name) => view.consumers(name).length > 0))
    return { reason: 'other nodes read what it gives back as past' };
  return { inputs, outputs };
}
