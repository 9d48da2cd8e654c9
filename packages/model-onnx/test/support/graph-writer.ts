/**
 * Writes small ONNX models for tests: random weights from a seed, in f32 or f16, inside the file or beside it.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import { f32ToF16 } from '@lowbit-kv/core';
import {
  type AttributeProto,
  AttributeProtoSchema,
  AttributeProto_AttributeType as AttributeType,
  TensorProto_DataType as DataType,
  GraphProtoSchema,
  type ModelProto,
  ModelProtoSchema,
  type NodeProto,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  type TensorProto,
  TensorProtoSchema,
  TensorShapeProto_DimensionSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from 'onnx-buf';
import { type Random, seededRandom } from './random.js';

export type FloatType = 'float32' | 'float16';

/** A plain number is an integer; `constants` are initializers of the graph that a branch of an If gives. */
export type AttributeValue =
  | number
  | string
  | readonly number[]
  | { readonly float: number }
  | { readonly constants: readonly string[] };

export interface NodeOptions {
  readonly domain?: 'com.microsoft';
  readonly name?: string;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  /** Names of the results; by default one, named after the node. */
  readonly outputs?: readonly string[];
}

export class GraphWriter {
  /** Element type of weights, activations and caches. */
  readonly elementType: FloatType;
  readonly #opset: number;
  readonly #random: Random;
  readonly #nodes: NodeProto[] = [];
  readonly #initializers: TensorProto[] = [];
  readonly #inputs: ValueInfoProto[] = [];
  readonly #outputs: ValueInfoProto[] = [];
  readonly #once = new Map<string, string>();

  constructor(options: {
    readonly elementType: FloatType;
    readonly opset: number;
    readonly seed: number;
  }) {
    this.elementType = options.elementType;
    this.#opset = options.opset;
    this.#random = seededRandom(options.seed);
  }

  get floatDataType(): DataType {
    return this.elementType === 'float16' ? DataType.FLOAT16 : DataType.FLOAT;
  }

  /** What `make` gave when it was first asked for under this key. */
  once(key: string, make: () => string): string {
    const known = this.#once.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#once.set(key, made);
    return made;
  }

  /** Strings in `dims` are names of dynamic dimensions. By default of the element type of the model. */
  input(name: string, dims: readonly (number | string)[], type = this.floatDataType): string {
    return this.once(`input ${name}`, () => {
      this.#inputs.push(valueInfo(name, dims, type));
      return name;
    });
  }

  /** Declares a value as an output of the graph. */
  output(name: string, dims: readonly (number | string)[], type = this.floatDataType): void {
    this.#outputs.push(valueInfo(name, dims, type));
  }

  /** Random weights of the given standard deviation. */
  weights(name: string, dims: readonly number[], deviation: number): string {
    const count = dims.reduce((a, b) => a * b, 1);
    return this.table(
      name,
      dims,
      Array.from({ length: count }, () => this.#random() * deviation),
    );
  }

  /** An initializer of the element type of the model. */
  table(name: string, dims: readonly number[], values: readonly number[]): string {
    const floats = Float32Array.from(values);
    const data = this.elementType === 'float16' ? Uint16Array.from(floats, f32ToF16) : floats;
    return this.#initializer(name, dims, this.floatDataType, data);
  }

  /** A scalar of the element type of the model. */
  number(value: number): string {
    return this.once(`number ${value}`, () => this.table(`number_${value}`, [], [value]));
  }

  /** A vector of integers. */
  ints(...values: readonly number[]): string {
    const name = `ints_${values.join('_')}`;
    return this.once(name, () =>
      this.#initializer(
        name,
        [values.length],
        DataType.INT64,
        BigInt64Array.from(values, (value) => BigInt(value)),
      ),
    );
  }

  /** A scalar integer. */
  int(value: number): string {
    const name = `int_${value}`;
    return this.once(name, () =>
      this.#initializer(name, [], DataType.INT64, BigInt64Array.of(BigInt(value))),
    );
  }

  /** Adds a node; gives the name of its first result. */
  node(opType: string, inputs: readonly string[], options: NodeOptions = {}): string {
    const name = options.name ?? `${opType}_${this.#nodes.length}`;
    const output = options.outputs ?? [`${name}_out`];
    this.#nodes.push(
      create(NodeProtoSchema, {
        opType,
        name,
        domain: options.domain ?? '',
        input: [...inputs],
        output: [...output],
        attribute: Object.entries(options.attributes ?? {}).map(([key, value]) =>
          typeof value === 'object' && 'constants' in value
            ? this.#branch(key, value.constants)
            : attribute(key, value),
        ),
      }),
    );
    return output[0] ?? '';
  }

  /** A graph of Constant nodes, as exporters write it, in the order of the initializers. */
  #branch(key: string, names: readonly string[]): AttributeProto {
    const tensors = this.#initializers.filter((tensor) => names.includes(tensor.name));
    const node = tensors.map((t, i) =>
      create(NodeProtoSchema, {
        opType: 'Constant',
        output: [`${key}_${i}`],
        attribute: [create(AttributeProtoSchema, { name: 'value', type: AttributeType.TENSOR, t })],
      }),
    );
    const output = tensors.map((t, i) => valueInfo(`${key}_${i}`, t.dims.map(Number), t.dataType));
    return create(AttributeProtoSchema, {
      name: key,
      type: AttributeType.GRAPH,
      g: create(GraphProtoSchema, { name: key, node, output }),
    });
  }

  model(): ModelProto {
    return create(ModelProtoSchema, {
      irVersion: 10n,
      opsetImport: [
        create(OperatorSetIdProtoSchema, { domain: '', version: BigInt(this.#opset) }),
        create(OperatorSetIdProtoSchema, { domain: 'com.microsoft', version: 1n }),
      ],
      producerName: 'lowbit-kv test',
      graph: create(GraphProtoSchema, {
        name: 'decoder',
        node: this.#nodes,
        initializer: this.#initializers,
        input: this.#inputs,
        output: this.#outputs,
      }),
    });
  }

  #initializer(
    name: string,
    dims: readonly number[],
    dataType: DataType,
    data: Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | BigInt64Array<ArrayBuffer>,
  ): string {
    const rawData = new Uint8Array(data.buffer);
    const tensor = create(TensorProtoSchema, { name, dataType, dims: dims.map(BigInt), rawData });
    this.#initializers.push(tensor);
    return name;
  }
}

export function modelBytes(model: ModelProto): Uint8Array {
  return toBinary(ModelProtoSchema, model);
}

function valueInfo(
  name: string,
  dims: readonly (number | string)[],
  elemType: DataType,
): ValueInfoProto {
  const dim = dims.map((size) =>
    create(TensorShapeProto_DimensionSchema, {
      value:
        typeof size === 'string'
          ? { case: 'dimParam', value: size }
          : { case: 'dimValue', value: BigInt(size) },
    }),
  );
  return create(ValueInfoProtoSchema, {
    name,
    type: { value: { case: 'tensorType', value: { elemType, shape: { dim } } } },
  });
}

function attribute(
  name: string,
  value: Exclude<AttributeValue, { readonly constants: readonly string[] }>,
): AttributeProto {
  if (typeof value === 'string')
    return create(AttributeProtoSchema, {
      name,
      type: AttributeType.STRING,
      s: new TextEncoder().encode(value),
    });
  if (typeof value === 'number')
    return create(AttributeProtoSchema, { name, type: AttributeType.INT, i: BigInt(value) });
  if ('float' in value)
    return create(AttributeProtoSchema, { name, type: AttributeType.FLOAT, f: value.float });
  return create(AttributeProtoSchema, {
    name,
    type: AttributeType.INTS,
    ints: value.map((item) => BigInt(item)),
  });
}
