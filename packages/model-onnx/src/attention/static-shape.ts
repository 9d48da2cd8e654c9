/**
 * Dimensions that values of a graph have whatever its inputs are, found in one pass over the nodes.
 */
import type { NodeProto } from 'onnx-buf';
import { elementCountOf } from '../model/tensor-numbers.js';
import type { GraphView } from './graph-view.js';
import { type Dims, dimsOfResults } from './shape-rules.js';
import { LONGEST, type MaybeNumber, type StaticVector, staticVector } from './static-values.js';

const KNOWN = new WeakMap<GraphView, StaticShapes>();

export class StaticShapes {
  readonly #view: GraphView;
  readonly #dims = new Map<string, Dims | null>();
  readonly #vectors = new Map<string, StaticVector | null>();

  /** The shapes of a graph, found when they are first asked for. */
  static of(view: GraphView): StaticShapes {
    const known = KNOWN.get(view);
    if (known !== undefined) return known;
    const shapes = new StaticShapes(view);
    KNOWN.set(view, shapes);
    return shapes;
  }

  private constructor(view: GraphView) {
    this.#view = view;
    for (const node of view.graph.node) this.#visit(node);
  }

  /** Null when not even the number of dimensions is known; a dimension is null when it may vary. */
  dims(name: string): Dims | null {
    const known = this.#dims.get(name);
    if (known !== undefined) return known;
    const found = this.#declared(name);
    this.#dims.set(name, found);
    return found;
  }

  /** A number that a scalar or a vector of one element always is. */
  number(name: string): MaybeNumber {
    const values = this.#vector(name)?.values;
    return values?.length === 1 ? (values[0] ?? null) : null;
  }

  #visit(node: NodeProto): void {
    const known = {
      dims: (name: string) => this.dims(name),
      vector: (name: string) => this.#vector(name),
    };
    const results = dimsOfResults(node, known);
    node.output.forEach((name, i) => {
      if (name === '') return;
      const found = results[i] ?? null;
      const declared = this.#declared(name);
      this.#dims.set(name, merged(declared, found));
    });
    const [first = ''] = node.output;
    if (!this.#vectors.has(first))
      this.#vectors.set(first, this.#constant(first) ?? staticVector(node, known));
  }

  #declared(name: string): Dims | null {
    const shape = this.#view.shape(name);
    return shape?.map((dim) => (typeof dim === 'number' ? dim : null)) ?? null;
  }

  #vector(name: string): StaticVector | null {
    const known = this.#vectors.get(name);
    if (known !== undefined) return known;
    const found = this.#constant(name);
    this.#vectors.set(name, found);
    return found;
  }

  #constant(name: string): StaticVector | null {
    const tensor = this.#view.constant(name);
    if (tensor !== null && elementCountOf(tensor) > LONGEST) return null;
    const numbers = this.#view.numbers(name);
    if (numbers === null || numbers.length > LONGEST) return null;
    return { values: [...numbers], integer: numbers.every(Number.isInteger) && !isFloat(tensor) };
  }
}

/** FLOAT, FLOAT16, DOUBLE and BFLOAT16 of `TensorProto.DataType`. */
function isFloat(tensor: { readonly dataType: number } | null): boolean {
  return tensor !== null && [1, 10, 11, 16].includes(tensor.dataType);
}

function merged(declared: Dims | null, found: Dims | null): Dims | null {
  if (declared === null || found === null || declared.length !== found.length)
    return found ?? declared;
  return declared.map((dim, i) => dim ?? found[i] ?? null);
}
