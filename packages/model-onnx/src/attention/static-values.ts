/**
 * Small vectors of numbers that a graph computes from constants and from shapes, such as the shape of a Reshape or a scale
 * from the head dim.
 */
import type { NodeProto } from 'onnx-buf';
import { intAttribute, intsAttribute } from './attributes.js';

/** Null stands for a number that depends on the inputs. */
export type MaybeNumber = number | null;

export interface StaticVector {
  readonly values: readonly MaybeNumber[];
  /** Division of integers rounds down. */
  readonly integer: boolean;
}

export interface Known {
  readonly vector: (name: string) => StaticVector | null;
  readonly dims: (name: string) => readonly MaybeNumber[] | null;
}

type Rule = (node: NodeProto, known: Known) => StaticVector | null;

/** The vector that a node computes; null when it is none that is known. */
export function staticVector(node: NodeProto, known: Known): StaticVector | null {
  return RULES.get(node.opType)?.(node, known) ?? null;
}

const same: Rule = (node, known) => known.vector(node.input[0] ?? '');

const RULES: ReadonlyMap<string, Rule> = new Map(
  Object.entries<Rule>({
    Identity: same,
    Reshape: same,
    Squeeze: same,
    Unsqueeze: same,
    Cast: (node, known) => {
      const vector = same(node, known);
      return vector && { ...vector, integer: INTEGERS.has(intAttribute(node, 'to', 0)) };
    },
    Shape: (node, known) => {
      const dims = known.dims(node.input[0] ?? '');
      if (dims === null) return null;
      const end = intAttribute(node, 'end', dims.length);
      return { values: dims.slice(intAttribute(node, 'start', 0), end), integer: true };
    },
    Concat: (node, known) => {
      const parts = node.input.map(known.vector);
      const found = parts.filter((part) => part !== null);
      if (found.length < parts.length) return null;
      return {
        values: found.flatMap(({ values }) => values),
        integer: found.every(({ integer }) => integer),
      };
    },
    Gather: (node, known) => {
      const [data, indices] = node.input.map(known.vector);
      if (!data || !indices) return null;
      const values = indices.values.map((index) =>
        index === null ? null : (data.values.at(index) ?? null),
      );
      return { ...data, values };
    },
    Slice: (node, known) => {
      const [data, first, end, , step] = node.input.map(known.vector);
      const from = first?.values[0] ?? null;
      const to = end?.values[0] ?? null;
      if (!data || from === null || to === null || (step && step.values[0] !== 1)) return null;
      return { ...data, values: data.values.slice(from, to) };
    },
    ConstantOfShape: (node, known) => {
      const size = known.vector(node.input[0] ?? '')?.values;
      const count = size?.length === 1 ? size[0] : null;
      return typeof count === 'number' && count <= LONGEST
        ? { values: Array(count).fill(null), integer: true }
        : null;
    },
    Add: twoOperands((a, b) => a + b),
    Sub: twoOperands((a, b) => a - b),
    Mul: twoOperands((a, b) => a * b),
    Pow: twoOperands((a, b) => a ** b),
    Div: twoOperands((a, b, integer) => (integer ? Math.floor(a / b) : a / b)),
    Sqrt: oneOperand(Math.sqrt),
    Reciprocal: oneOperand((value) => 1 / value),
    Neg: oneOperand((value) => -value),
  }),
);

/** Longer constants are no shapes and no scales. */
export const LONGEST = 16;

/** INT32 and INT64 of `TensorProto.DataType`. */
const INTEGERS = new Set([6, 7]);

function oneOperand(apply: (value: number) => number): Rule {
  return (node, known) => {
    const vector = known.vector(node.input[0] ?? '');
    return (
      vector && {
        ...vector,
        values: vector.values.map((value) => (value === null ? null : apply(value))),
      }
    );
  };
}

function twoOperands(apply: (a: number, b: number, integer: boolean) => number): Rule {
  return (node, known) => {
    const [a, b] = node.input.map(known.vector);
    if (!a || !b) return null;
    const length = Math.max(a.values.length, b.values.length);
    const integer = a.integer && b.integer;
    const at = ({ values }: StaticVector, i: number) => values[values.length === 1 ? 0 : i] ?? null;
    const values = Array.from({ length }, (_, i) => {
      const left = at(a, i);
      const right = at(b, i);
      return left === null || right === null ? null : apply(left, right, integer);
    });
    return { values, integer };
  };
}

/** Axes of a node, as its second input or as an attribute (before operator set 13 or 18); null when not known. */
export function axesOf(node: NodeProto, known: Known): readonly number[] | null {
  const attribute = intsAttribute(node, 'axes');
  if (attribute !== null) return attribute;
  const values = known.vector(node.input[1] ?? '')?.values;
  return values?.every((value) => value !== null) ? values : null;
}
