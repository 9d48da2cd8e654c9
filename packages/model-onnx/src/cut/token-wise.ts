/**
 * Whether nodes work on every token by itself, so that tokens may be run in slices.
 *
 * A decoder mixes tokens outside of attention in few places: convolutions, cumulative sums, scales of a whole tensor as in
 * dynamic quantization. Operators that are not listed here count as mixing.
 */
import type { NodeProto } from 'onnx-buf';
import { intAttribute, intsAttribute } from '../attention/attributes.js';
import type { GraphView } from '../attention/graph-view.js';
import { sourcesOf } from '../attention/sources.js';

const words = (text: string) => new Set(text.split(' '));

const BY_ELEMENT = words(
  'Identity Cast CastLike Add Sub Mul Div Pow Max Min Neg Abs Sqrt Reciprocal Exp Log Tanh Sigmoid Relu LeakyRelu Elu Erf Gelu ' +
    'FastGelu QuickGelu BiasGelu Softplus HardSigmoid HardSwish Swish Clip Where Dropout Reshape Transpose Squeeze Unsqueeze',
);
const NORMS = words(
  'LayerNormalization SimplifiedLayerNormalization RMSNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization',
);
const PRODUCTS = words('MatMul FusedMatMul MatMulNBits');
const ALONG_AN_AXIS = words('Split Concat Softmax LogSoftmax');
const REDUCTIONS = words('ReduceMean ReduceSum ReduceMax ReduceL2 ReduceSumSquare');

/** Of values `[1, tokens, channels]`. */
export function isTokenWise(view: GraphView, nodes: readonly NodeProto[]): boolean {
  return nodes.every((node) => {
    // Of constants and lengths alone.
    if (sourcesOf(view, node.output[0] ?? '').size === 0) return true;
    if (BY_ELEMENT.has(node.opType)) return true;
    if (NORMS.has(node.opType)) return isChannels(intAttribute(node, 'axis', -1));
    if (ALONG_AN_AXIS.has(node.opType)) return isChannels(intAttribute(node, 'axis', 0));
    if (REDUCTIONS.has(node.opType)) {
      const axes = intsAttribute(node, 'axes') ?? view.numbers(node.input[1] ?? '');
      return axes?.length === 1 && isChannels(axes[0] ?? 0);
    }
    const [, ...weights] = node.input;
    return PRODUCTS.has(node.opType) && weights.every((name) => sourcesOf(view, name).size === 0);
  });
}

function isChannels(axis: number): boolean {
  return axis === -1 || axis === 2;
}
