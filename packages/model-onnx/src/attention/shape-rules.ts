/**
 * The dimensions of the results of a node, by operator. Operators that are not here have results of unknown shape.
 */
import type { NodeProto } from 'onnx-buf';
import { intAttribute, intsAttribute } from './attributes.js';
import { axesOf, type Known, type MaybeNumber } from './static-values.js';

export type Dims = readonly MaybeNumber[];
type Rule = (node: NodeProto, known: Known) => Dims | null;

/** In the order of the node's outputs; missing ones are unknown. */
export function dimsOfResults(node: NodeProto, known: Known): readonly (Dims | null)[] {
  if (node.opType === 'Split') return split(node, known);
  if (SKIP_NORMS.has(node.opType)) {
    const dims = like(node, known);
    return node.output.map((_, i) => (i === 0 || i === 3 ? dims : null));
  }
  if (LIKE_FIRST.has(node.opType)) return [like(node, known)];
  if (BROADCAST.has(node.opType)) return [broadcastAll(node.input.map(known.dims))];
  return [RULES.get(node.opType)?.(node, known) ?? null];
}

const words = (text: string) => new Set(text.split(' '));
const SKIP_NORMS = words('SkipLayerNormalization SkipSimplifiedLayerNormalization');
const LIKE_FIRST = words(
  'Identity Cast CastLike Neg Sqrt Relu Tanh Sigmoid Softmax Dropout Not IsNaN Exp Log Abs Reciprocal Cos Sin Erf Gelu ' +
    'FastGelu QuickGelu BiasGelu Clip Floor Ceil Round Trilu LayerNormalization SimplifiedLayerNormalization ' +
    'RMSNormalization RotaryEmbedding DequantizeLinear CumSum ScatterND ScatterElements',
);
const BROADCAST = words(
  'Add Sub Mul Div Pow Mod Max Min And Or Xor Equal Less LessOrEqual Greater GreaterOrEqual Where',
);

const like: Rule = (node, known) => known.dims(node.input[0] ?? '');

/** Attention gives rows or heads as its queries came, of a width that values decide. */
const likeQuery: Rule = (node, known) => {
  const dims = like(node, known);
  return dims?.length === 3 || dims?.length === 4 ? [...dims.slice(0, -1), null] : null;
};

const RULES: ReadonlyMap<string, Rule> = new Map(
  Object.entries<Rule>({
    MultiHeadAttention: likeQuery,
    GroupQueryAttention: likeQuery,
    Attention: likeQuery,
    MatMul: (node, known) => product(node, known, 0),
    FusedMatMul: (node, known) => product(node, known, intAttribute(node, 'transB', 0)),
    MatMulNBits: (node, known) => {
      const dims = like(node, known);
      return dims && [...dims.slice(0, -1), intAttribute(node, 'N', 0)];
    },
    Gemm: (node, known) => {
      const [a, b] = node.input.map(known.dims);
      const rows = a?.at(intAttribute(node, 'transA', 0) === 1 ? 1 : 0) ?? null;
      return [rows, b?.at(intAttribute(node, 'transB', 0) === 1 ? 0 : 1) ?? null];
    },
    Transpose: (node, known) => {
      const dims = like(node, known);
      const perm = intsAttribute(node, 'perm');
      if (dims === null) return null;
      return perm === null ? [...dims].reverse() : perm.map((axis) => dims[axis] ?? null);
    },
    Reshape: reshape,
    Unsqueeze: (node, known) => {
      const dims = like(node, known);
      const axes = axesOf(node, known);
      if (dims === null || axes === null) return null;
      const rank = dims.length + axes.length;
      const added = new Set(axes.map((axis) => (axis < 0 ? axis + rank : axis)));
      const rest = [...dims];
      return Array.from({ length: rank }, (_, i) => (added.has(i) ? 1 : (rest.shift() ?? null)));
    },
    Squeeze: (node, known) => without(like(node, known), axesOf(node, known)),
    Concat: (node, known) => {
      const parts = node.input.map(known.dims);
      const [first] = parts;
      if (!first) return null;
      const at = axisOf(node, first.length, 0);
      const sizes = parts.map((part) => part?.[at] ?? null);
      return withDim(
        first,
        at,
        sizes.reduce((a, b) => (a === null || b === null ? null : a + b), 0),
      );
    },
    Slice: slice,
    Gather: (node, known) => {
      const [data, indices] = node.input.map(known.dims);
      if (!data || !indices) return null;
      const at = axisOf(node, data.length, 0);
      return [...data.slice(0, at), ...indices, ...data.slice(at + 1)];
    },
    GatherBlockQuantized: (node, known) => {
      const indices = known.dims(node.input[1] ?? '');
      return indices && [...indices, null];
    },
    Expand: (node, known) =>
      broadcastAll([like(node, known), known.vector(node.input[1] ?? '')?.values ?? null]),
    Tile: (node, known) => {
      const repeats = known.vector(node.input[1] ?? '')?.values;
      const dims = like(node, known)?.map((dim, i) => {
        const count = repeats?.[i] ?? null;
        return dim === null || count === null ? null : dim * count;
      });
      return dims ?? null;
    },
    Shape: (node, known) => [like(node, known)?.length ?? null],
    ReduceMean: reduced,
    ReduceSum: reduced,
    ReduceMax: reduced,
  }),
);

function axisOf(node: NodeProto, rank: number, absent: number): number {
  const axis = intAttribute(node, 'axis', absent);
  return axis < 0 ? axis + rank : axis;
}

function withDim(dims: Dims, at: number, size: MaybeNumber): Dims {
  return dims.map((dim, i) => (i === at ? size : dim));
}

function without(dims: Dims | null, axes: readonly number[] | null): Dims | null {
  if (dims === null || axes === null) return null;
  const gone = new Set(axes.map((axis) => (axis < 0 ? axis + dims.length : axis)));
  return dims.filter((_, i) => !gone.has(i));
}

function broadcastAll(shapes: readonly (Dims | null)[]): Dims | null {
  const known = shapes.filter((dims) => dims !== null);
  if (known.length < shapes.length) return null;
  const rank = Math.max(...known.map((dims) => dims.length));
  return Array.from({ length: rank }, (_, i) => {
    const sizes = known.map((dims) => (i < rank - dims.length ? 1 : dims[i - rank + dims.length]));
    const wide = sizes.find((size) => typeof size === 'number' && size !== 1);
    return wide ?? (sizes.every((size) => size === 1) ? 1 : null);
  });
}

function product(node: NodeProto, known: Known, transposedB: number): Dims | null {
  const [a, b] = node.input.map(known.dims);
  if (!a || !b || a.length < 2 || b.length < 2) return null;
  const batch = broadcastAll([a.slice(0, -2), b.slice(0, -2)]);
  return batch && [...batch, a.at(-2) ?? null, b.at(transposedB === 1 ? -2 : -1) ?? null];
}

function reshape(node: NodeProto, known: Known): Dims | null {
  const target = known.vector(node.input[1] ?? '')?.values;
  if (target === undefined) return null;
  const source = like(node, known);
  const kept = intAttribute(node, 'allowzero', 0) === 0;
  const dims = target.map((size, i) => (size === 0 && kept ? (source?.[i] ?? null) : size));
  if (!dims.includes(-1)) return dims;
  const total = source && productOf(source);
  const others = productOf(dims.filter((size) => size !== -1));
  const rest = total == null || others === null ? null : total / others;
  return dims.map((size) => (size === -1 ? rest : size));
}

function productOf(dims: Dims): MaybeNumber {
  return dims.reduce((a, b) => (a === null || b === null ? null : a * b), 1);
}

function slice(node: NodeProto, known: Known): Dims | null {
  const dims = like(node, known);
  const [, first, end, axes, steps] = node.input.map((name) => known.vector(name)?.values);
  if (dims === null || axes === undefined) return null;
  const result = [...dims];
  axes.forEach((axis, i) => {
    if (axis === null) return;
    const at = axis < 0 ? axis + dims.length : axis;
    const size = dims[at] ?? null;
    const from = first?.[i] ?? null;
    const to = end?.[i] ?? null;
    const plain = steps === undefined || steps[i] === 1;
    const inside = (index: number, count: number) =>
      Math.min(Math.max(index < 0 ? index + count : index, 0), count);
    result[at] =
      size === null || from === null || to === null || !plain
        ? null
        : Math.max(inside(to, size) - inside(from, size), 0);
  });
  return result;
}

function split(node: NodeProto, known: Known): (Dims | null)[] {
  const dims = like(node, known);
  if (dims === null) return [];
  const at = axisOf(node, dims.length, 0);
  const sizes = intsAttribute(node, 'split') ?? known.vector(node.input[1] ?? '')?.values;
  const even = (dims[at] ?? Number.NaN) / node.output.length;
  const rest = Number.isInteger(even) ? even : null;
  return node.output.map((_, i) =>
    withDim(dims, at, sizes === undefined ? rest : (sizes[i] ?? null)),
  );
}

function reduced(node: NodeProto, known: Known): Dims | null {
  const dims = like(node, known);
  const axes = axesOf(node, known);
  if (dims === null || axes === null) return null;
  if (intAttribute(node, 'keepdims', 1) === 0) return without(dims, axes);
  const ones = new Set(axes.map((axis) => (axis < 0 ? axis + dims.length : axis)));
  return dims.map((dim, i) => (ones.has(i) ? 1 : dim));
}
