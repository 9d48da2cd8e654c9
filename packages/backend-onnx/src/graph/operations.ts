/**
 * ONNX operators as short functions over a builder, with numbers as scalar constants.
 */
import type { ElementType, GraphBuilder, Operand, Value } from './builder.js';

export class Operations {
  readonly graph: GraphBuilder;

  constructor(graph: GraphBuilder) {
    this.graph = graph;
  }

  scalar(type: ElementType, value: number): Value {
    return this.graph.constant(type, [value], []);
  }

  cast(value: Value, type: ElementType): Value {
    if (value.type === type) return value;
    const to = {
      float32: 1,
      uint8: 2,
      int32: 6,
      int64: 7,
      bool: 9,
      float16: 10,
      float64: 11,
      uint32: 12,
    };
    return this.graph.node('Cast', type, [value], { to: to[type] });
  }

  add = (a: Operand, b: Operand) => this.#same('Add', a, b);
  subtract = (a: Operand, b: Operand) => this.#same('Sub', a, b);
  multiply = (a: Operand, b: Operand) => this.#same('Mul', a, b);
  divide = (a: Operand, b: Operand) => this.#same('Div', a, b);
  minimum = (a: Operand, b: Operand) => this.#same('Min', a, b);
  maximum = (a: Operand, b: Operand) => this.#same('Max', a, b);
  bitAnd = (a: Operand, b: Operand) => this.#same('BitwiseAnd', a, b);
  less = (a: Operand, b: Operand) => this.#same('Less', a, b, 'bool');
  greater = (a: Operand, b: Operand) => this.#same('Greater', a, b, 'bool');
  atMost = (a: Operand, b: Operand) => this.#same('LessOrEqual', a, b, 'bool');
  atLeast = (a: Operand, b: Operand) => this.#same('GreaterOrEqual', a, b, 'bool');
  equal = (a: Operand, b: Operand) => this.#same('Equal', a, b, 'bool');
  and = (a: Value, b: Value) => this.graph.node('And', 'bool', [a, b]);
  or = (a: Value, b: Value) => this.graph.node('Or', 'bool', [a, b]);
  not = (a: Value) => this.graph.node('Not', 'bool', [a]);
  isNaN = (a: Value) => this.graph.node('IsNaN', 'bool', [a]);

  absolute = (a: Value) => this.graph.node('Abs', a.type, [a]);
  negate = (a: Value) => this.graph.node('Neg', a.type, [a]);
  /** To the nearest integer, ties to even. */
  round = (a: Value) => this.graph.node('Round', a.type, [a]);
  squareRoot = (a: Value) => this.graph.node('Sqrt', a.type, [a]);
  sine = (a: Value) => this.graph.node('Sin', a.type, [a]);
  exponential = (a: Value) => this.graph.node('Exp', a.type, [a]);
  logarithm = (a: Value) => this.graph.node('Log', a.type, [a]);
  tangentHyperbolic = (a: Value) => this.graph.node('Tanh', a.type, [a]);
  matrixProduct = (a: Value, b: Value) => this.graph.node('MatMul', a.type, [a, b]);

  select(condition: Value, yes: Operand, no: Operand): Value {
    const [a, b] = this.#pair(yes, no);
    return this.graph.node('Where', a.type, [condition, a, b]);
  }

  shiftRight(a: Value, by: Operand): Value {
    const inputs = [a, this.#like(by, a.type)];
    return this.graph.node('BitShift', a.type, inputs, { direction: 'RIGHT' });
  }

  /** 0 copies a dimension from the same place of the input, -1 is what remains. */
  reshape(a: Value, dims: readonly number[]): Value {
    return this.graph.node('Reshape', a.type, [a, this.graph.constant('int64', dims)]);
  }

  transpose(a: Value, order: readonly number[]): Value {
    return this.graph.node('Transpose', a.type, [a], { perm: order });
  }

  /** Elements `from`, `from + step`, ... below `to` of one axis. */
  slice(a: Value, axis: number, from: number, to: number, step = 1): Value {
    const list = (value: number) => this.graph.constant('int64', [value]);
    return this.graph.node('Slice', a.type, [a, list(from), list(to), list(axis), list(step)]);
  }

  /**
   * Appends `count` zeros at the end of one axis of a value of `rank` axes. Every axis has its pads: the
   * optimizer of ONNX Runtime permutes pads as if there were no `axes` input.
   */
  padEnd(a: Value, rank: number, axis: number, count: number): Value {
    if (count === 0) return a;
    const pads = Array(2 * rank).fill(0);
    pads[rank + axis] = count;
    return this.graph.node('Pad', a.type, [
      a,
      this.graph.constant('int64', pads),
      this.scalar(a.type, 0),
    ]);
  }

  concat(parts: readonly Value[], axis: number): Value {
    const [first] = parts;
    if (first === undefined) throw new TypeError('nothing to concatenate');
    return parts.length === 1 ? first : this.graph.node('Concat', first.type, parts, { axis });
  }

  gather(a: Value, indices: Value, axis: number): Value {
    return this.graph.node('Gather', a.type, [a, indices], { axis });
  }

  /** int64 indices of the `count` largest elements along an axis; of equal ones those of lower index. */
  highestIndices(a: Value, axis: number, count: number): Value {
    const highest = this.graph.node('TopK', a.type, [a, this.#count(count)], { axis }, 2);
    return this.graph.result(highest, 1, 'int64');
  }

  /** The `count` smallest elements along an axis, rising. */
  lowest(a: Value, axis: number, count: number): Value {
    return this.graph.node('TopK', a.type, [a, this.#count(count)], { axis, largest: 0 }, 2);
  }

  #count(count: number): Value {
    return this.graph.constant('int64', [count]);
  }

  reduceMinimum = (a: Value, axes: readonly number[], keep = true) =>
    this.#reduce('ReduceMin', a, axes, keep);
  reduceMaximum = (a: Value, axes: readonly number[], keep = true) =>
    this.#reduce('ReduceMax', a, axes, keep);
  reduceSum = (a: Value, axes: readonly number[], keep = true) =>
    this.#reduce('ReduceSum', a, axes, keep);

  #reduce(operator: string, a: Value, axes: readonly number[], keep: boolean): Value {
    return this.graph.node(operator, a.type, [a, this.graph.constant('int64', axes)], {
      keepdims: keep ? 1 : 0,
    });
  }

  #same(operator: string, a: Operand, b: Operand, type?: ElementType): Value {
    const [left, right] = this.#pair(a, b);
    return this.graph.node(operator, type ?? left.type, [left, right]);
  }

  #pair(a: Operand, b: Operand): [Value, Value] {
    if (typeof a === 'number' && typeof b === 'number')
      throw new TypeError('one operand must be a value of the graph');
    const type = (typeof a === 'number' ? b : a) as Value;
    return [this.#like(a, type.type), this.#like(b, type.type)];
  }

  #like(operand: Operand, type: ElementType): Value {
    return typeof operand === 'number' ? this.scalar(type, operand) : operand;
  }
}
