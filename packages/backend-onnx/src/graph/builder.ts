/**
 * Writes ONNX models node by node: values in, values out, constants named once.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import {
  type AttributeProto,
  AttributeProto_AttributeType,
  AttributeProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  type NodeProto,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  StringStringEntryProtoSchema,
  type TensorProto,
  TensorProto_DataType,
  TensorProtoSchema,
  TensorShapeProto_DimensionSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from 'onnx-buf';

/** The newest operator set the graphs need (BitwiseAnd, axes of ReduceMax as an input); every ONNX Runtime since 1.14 has it. */
const OPSET = 18n;
/** The IR version that came with it. */
const IR_VERSION = 8n;

export type ElementType =
  | 'float16'
  | 'float32'
  | 'float64'
  | 'uint8'
  | 'uint32'
  | 'int32'
  | 'int64'
  | 'bool';

/** Result of a node, an input or a constant. */
export interface Value {
  readonly name: string;
  readonly type: ElementType;
}

/** A number stands for a scalar constant of the type of the value beside it. */
export type Operand = Value | number;

type AttributeValue = number | string | readonly number[];

const DATA_TYPES: Readonly<Record<ElementType, TensorProto_DataType>> = {
  float16: TensorProto_DataType.FLOAT16,
  float32: TensorProto_DataType.FLOAT,
  float64: TensorProto_DataType.DOUBLE,
  uint8: TensorProto_DataType.UINT8,
  uint32: TensorProto_DataType.UINT32,
  int32: TensorProto_DataType.INT32,
  int64: TensorProto_DataType.INT64,
  bool: TensorProto_DataType.BOOL,
};

export class GraphBuilder {
  readonly #name: string;
  readonly #nodes: NodeProto[] = [];
  readonly #constants = new Map<string, Value>();
  readonly #initializers: TensorProto[] = [];
  readonly #inputs: ValueInfoProto[] = [];
  readonly #outputs: ValueInfoProto[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** Declares a graph input; a string in `dims` names a dynamic dimension. */
  input(
    name: string,
    type: ElementType,
    dims: readonly (number | string)[],
    documentation: string,
  ): Value {
    this.#inputs.push(valueInfo(name, type, dims, documentation));
    return { name, type };
  }

  output(
    name: string,
    value: Value,
    dims: readonly (number | string)[],
    documentation: string,
  ): void {
    this.#nodes.push(
      create(NodeProtoSchema, {
        opType: 'Identity',
        name: `${name}_output`,
        input: [value.name],
        output: [name],
      }),
    );
    this.#outputs.push(valueInfo(name, value.type, dims, documentation));
  }

  /** A constant tensor; equal constants share one initializer. */
  constant(
    type: ElementType,
    values: readonly number[],
    dims: readonly number[] = [values.length],
  ): Value {
    const key = JSON.stringify([type, values.map((v) => (Object.is(v, -0) ? '-0' : `${v}`)), dims]);
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const value = { name: `constant_${this.#constants.size}`, type };
    this.#constants.set(key, value);
    this.#initializers.push(
      create(TensorProtoSchema, {
        name: value.name,
        dataType: DATA_TYPES[type],
        dims: dims.map(BigInt),
        rawData: rawBytes(type, values),
      }),
    );
    return value;
  }

  /** Adds a node with some results; the first is returned. */
  node(
    opType: string,
    type: ElementType,
    inputs: readonly Value[],
    attributes: Readonly<Record<string, AttributeValue>> = {},
    results = 1,
  ): Value {
    const name = `${opType}_${this.#nodes.length}`;
    this.#nodes.push(
      create(NodeProtoSchema, {
        opType,
        name,
        input: inputs.map((input) => input.name),
        output: Array.from({ length: results }, (_, i) => (i === 0 ? name : `${name}_${i}`)),
        attribute: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
      }),
    );
    return { name, type };
  }

  /** A further result of the node that `first` came from, by its number from 1 on. */
  result(first: Value, number: number, type: ElementType): Value {
    return { name: `${first.name}_${number}`, type };
  }

  /** The model file; `metadata` goes into metadata_props. */
  build(metadata: Readonly<Record<string, string>>): Uint8Array {
    return toBinary(
      ModelProtoSchema,
      create(ModelProtoSchema, {
        irVersion: IR_VERSION,
        opsetImport: [create(OperatorSetIdProtoSchema, { domain: '', version: OPSET })],
        producerName: 'lowbit-kv',
        graph: create(GraphProtoSchema, {
          name: this.#name,
          node: this.#nodes,
          initializer: this.#initializers,
          input: this.#inputs,
          output: this.#outputs,
        }),
        metadataProps: Object.entries(metadata).map(([key, value]) =>
          create(StringStringEntryProtoSchema, { key, value }),
        ),
      }),
    );
  }
}

function valueInfo(
  name: string,
  type: ElementType,
  dims: readonly (number | string)[],
  documentation: string,
): ValueInfoProto {
  return create(ValueInfoProtoSchema, {
    name,
    docString: documentation,
    type: {
      value: {
        case: 'tensorType',
        value: {
          elemType: DATA_TYPES[type],
          shape: {
            dim: dims.map((dim) =>
              create(TensorShapeProto_DimensionSchema, {
                value:
                  typeof dim === 'string'
                    ? { case: 'dimParam', value: dim }
                    : { case: 'dimValue', value: BigInt(dim) },
              }),
            ),
          },
        },
      },
    },
  });
}

function attribute(name: string, value: AttributeValue): AttributeProto {
  if (typeof value === 'string') {
    const s = new TextEncoder().encode(value);
    return create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.STRING, s });
  }
  return typeof value === 'number'
    ? create(AttributeProtoSchema, {
        name,
        type: AttributeProto_AttributeType.INT,
        i: BigInt(value),
      })
    : create(AttributeProtoSchema, {
        name,
        type: AttributeProto_AttributeType.INTS,
        ints: value.map(BigInt),
      });
}

function rawBytes(type: ElementType, values: readonly number[]): Uint8Array<ArrayBuffer> {
  const bytes = (array: { buffer: ArrayBuffer }) => new Uint8Array(array.buffer);
  switch (type) {
    case 'float32':
      return bytes(Float32Array.from(values));
    case 'float64':
      return bytes(Float64Array.from(values));
    case 'uint8':
    case 'bool':
      return Uint8Array.from(values);
    case 'uint32':
      return bytes(Uint32Array.from(values));
    case 'int32':
      return bytes(Int32Array.from(values));
    case 'int64':
      return bytes(BigInt64Array.from(values, BigInt));
    case 'float16':
      throw new TypeError('f16 constants are written as float32 and cast');
  }
}
