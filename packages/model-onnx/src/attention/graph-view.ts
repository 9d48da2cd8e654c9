/**
 * An index over the graph of a model: who makes a value, who reads it, which are constant, and what is known of their types
 * and shapes. Data of initializers lies in the graph (the reader of model files has put external data there).
 */
import { LowbitKvError } from '@lowbit-kv/core';
import {
  TensorProto_DataType as DataType,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  type TensorProto,
  type TypeProto,
} from 'onnx-buf';
import { elementCountOf, tensorNumbers } from '../model/tensor-numbers.js';
import { attributeOf, intAttribute } from './attributes.js';

/** A dimension is a number, the name of a dynamic one, or null when nothing is said. */
export type Dimension = number | string | null;

export class GraphView {
  readonly graph: GraphProto;
  readonly #opsets: ReadonlyMap<string, number>;
  readonly #producers = new Map<string, NodeProto>();
  readonly #consumers = new Map<string, NodeProto[]>();
  readonly #initializers = new Map<string, TensorProto>();
  readonly #declared = new Map<string, TypeProto>();
  readonly #inputs: ReadonlySet<string>;

  /** Throws MODEL_INVALID when the graph is missing, not in topological order, or makes a value twice. */
  constructor(model: ModelProto) {
    if (model.graph === undefined) throw invalidGraph('the model has no graph', model.producerName);
    const { graph } = model;
    this.graph = graph;
    this.#opsets = new Map(model.opsetImport.map((o) => [o.domain, Number(o.version)]));
    for (const tensor of graph.initializer) this.#initializers.set(tensor.name, tensor);
    for (const info of [...graph.valueInfo, ...graph.input, ...graph.output])
      if (info.type !== undefined) this.#declared.set(info.name, info.type);
    this.#inputs = new Set(
      graph.input.map((input) => input.name).filter((name) => !this.#initializers.has(name)),
    );
    for (const node of graph.node) this.#index(node);
  }

  #index(node: NodeProto): void {
    for (const name of inputsOf(node)) {
      if (!this.isGraphInput(name) && !this.#initializers.has(name) && !this.#producers.has(name))
        throw invalidGraph('a node reads a value that no earlier node makes', name);
      const known = this.#consumers.get(name);
      if (known === undefined) this.#consumers.set(name, [node]);
      else known.push(node);
    }
    for (const name of outputsOf(node)) {
      // Walks back through the graph end because a value is made once, and before it is read.
      if (this.isGraphInput(name) || this.#initializers.has(name) || this.#producers.has(name))
        throw invalidGraph('a value is made twice', name);
      this.#producers.set(name, node);
    }
  }

  /** Version of an operator set; 0 when the model does not import it. The empty domain is the standard one. */
  opset(domain: string): number {
    return this.#opsets.get(domain) ?? 0;
  }

  /** Null for graph inputs, initializers and unknown names. */
  producer(name: string): NodeProto | null {
    return this.#producers.get(name) ?? null;
  }

  /** In the order of the graph; also nodes that read the value inside a subgraph. */
  consumers(name: string): readonly NodeProto[] {
    return this.#consumers.get(name) ?? [];
  }

  isGraphInput(name: string): boolean {
    return this.#inputs.has(name);
  }

  initializer(name: string): TensorProto | null {
    return this.#initializers.get(name) ?? null;
  }

  /** An initializer or the tensor of a Constant node, through Identity; null for everything else. */
  constant(name: string): TensorProto | null {
    for (let at = name; ; ) {
      const here = this.#constantHere(at);
      if (here !== null) return here;
      const node = this.#producers.get(at);
      const [source] = node?.input ?? [];
      if (node?.opType !== 'Identity' || source === undefined) return null;
      at = source;
    }
  }

  /** Not through Identity. */
  #constantHere(name: string): TensorProto | null {
    const initializer = this.#initializers.get(name);
    if (initializer !== undefined) return initializer;
    const node = this.#producers.get(name);
    return node?.opType === 'Constant' ? (attributeOf(node, 'value')?.t ?? null) : null;
  }

  /** The numbers of a constant; null when the value is none. */
  numbers(name: string): Float64Array | null {
    const node = this.#producers.get(name);
    for (const kind of ['value_int', 'value_float', 'value_ints', 'value_floats'] as const) {
      const attribute = node?.opType === 'Constant' ? attributeOf(node, kind) : null;
      if (attribute === null) continue;
      if (kind === 'value_int') return Float64Array.of(Number(attribute.i));
      if (kind === 'value_float') return Float64Array.of(attribute.f);
      if (kind === 'value_ints') return Float64Array.from(attribute.ints, Number);
      return Float64Array.from(attribute.floats);
    }
    const tensor = this.constant(name);
    return tensor === null ? null : tensorNumbers(tensor);
  }

  /** The number of a constant of one element; null when the value is none. */
  scalar(name: string): number | null {
    const tensor = this.constant(name);
    if (tensor !== null && elementCountOf(tensor) !== 1) return null;
    const numbers = this.numbers(name);
    return numbers?.length === 1 ? (numbers[0] ?? null) : null;
  }

  /** As declared by the graph or an initializer; null when nothing is said. */
  shape(name: string): readonly Dimension[] | null {
    const tensor = this.constant(name);
    if (tensor !== null) return tensor.dims.map(Number);
    const type = this.#declared.get(name)?.value;
    if (type?.case !== 'tensorType' || type.value.shape === undefined) return null;
    return type.value.shape.dim.map(({ value }) => {
      if (value.case === 'dimValue') return Number(value.value);
      return value.case === 'dimParam' && value.value !== '' ? value.value : null;
    });
  }

  /** Declared, or found by walking back through nodes that keep the type of an input; null when unknown. */
  elementType(name: string): DataType | null {
    for (let at: string | undefined = name; at !== undefined; ) {
      const known = this.#constantHere(at)?.dataType ?? this.#declaredType(at);
      if (known !== undefined) return known;
      const node = this.#producers.get(at);
      if (node === undefined) return null;
      if (node.opType === 'Cast') return intAttribute(node, 'to', DataType.UNDEFINED);
      if (node.opType === 'ConstantOfShape')
        return attributeOf(node, 'value')?.t?.dataType ?? DataType.FLOAT;
      if (INTEGER_RESULTS.has(node.opType)) return DataType.INT64;
      if (BOOLEAN_RESULTS.has(node.opType)) return DataType.BOOL;
      at = node.input[TYPE_INPUT.get(node.opType) ?? 0];
    }
    return null;
  }

  #declaredType(name: string): DataType | undefined {
    const type = this.#declared.get(name)?.value;
    return type?.case === 'tensorType' ? type.value.elemType : undefined;
  }
}

const INTEGER_RESULTS = new Set(['Shape', 'Size', 'NonZero', 'ArgMax', 'ArgMin']);
const BOOLEAN_RESULTS = new Set(
  'And Or Not Xor Equal Less LessOrEqual Greater GreaterOrEqual IsNaN IsInf'.split(' '),
);

/** Number of the input whose type the result has, where it is not the first. */
const TYPE_INPUT: ReadonlyMap<string, number> = new Map(
  Object.entries({
    Where: 1,
    DequantizeLinear: 1,
    GatherBlockQuantized: 2,
    CastLike: 1,
  }),
);

/** Values that a node reads: its inputs and what subgraphs of it take from around them. */
export function inputsOf(node: NodeProto): string[] {
  const names = new Set(node.input.filter((name) => name !== ''));
  for (const graph of subgraphsOf(node)) for (const name of capturedBy(graph)) names.add(name);
  return [...names];
}

/** Values that a node makes: an optional output that is left out has an empty name. */
export function outputsOf(node: NodeProto): string[] {
  return node.output.filter((name) => name !== '');
}

/** Bodies of If, Loop and Scan. */
export function subgraphsOf(node: NodeProto): GraphProto[] {
  return node.attribute.flatMap(({ g, graphs }) => (g === undefined ? graphs : [g, ...graphs]));
}

function capturedBy(graph: GraphProto): Set<string> {
  const own = new Set([...graph.input, ...graph.initializer].map((value) => value.name));
  const captured = new Set<string>();
  for (const node of graph.node) {
    for (const name of inputsOf(node)) if (!own.has(name)) captured.add(name);
    for (const name of node.output) own.add(name);
  }
  for (const { name } of graph.output) if (!own.has(name)) captured.add(name);
  return captured;
}

function invalidGraph(message: string, value: string): LowbitKvError {
  return new LowbitKvError('MODEL_INVALID', {
    message,
    value,
    valid: 'an ONNX model whose nodes come in topological order and make each value once',
    next: 'Fetch or export the model again.',
  });
}
