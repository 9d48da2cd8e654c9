/**
 * Writes one segment of a graph as a model of its own.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import {
  TensorProto_DataLocation as DataLocation,
  TensorProto_DataType as DataType,
  GraphProtoSchema,
  type ModelProto,
  ModelProtoSchema,
  type NodeProto,
  StringStringEntryProtoSchema,
  type TensorProto,
  TensorProtoSchema,
  TensorShapeProto_DimensionSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from 'onnx-buf';
import { type GraphView, inputsOf } from '../attention/graph-view.js';
import type { ExternalBytes } from '../model/session.js';

/** A value that comes from another segment: its type and shape as onnxruntime found them. */
export interface EdgeValue {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly (number | string | null)[] | null;
}

export interface SegmentContents {
  readonly nodes: readonly NodeProto[];
  readonly initializers: readonly TensorProto[];
  readonly graphInputs: readonly string[];
  readonly edgeInputs: readonly EdgeValue[];
  readonly outputs: readonly string[];
}

export interface SegmentModel {
  readonly bytes: Uint8Array;
  /** Weights, so that no model is near the 2 GiB that a protobuf message can have. */
  readonly external: readonly ExternalBytes[];
}

/** Smaller ones stay in the model: shapes are inferred from them. */
const EXTERNAL_BYTES = 1024;

const DATA_TYPES: Readonly<Record<string, DataType>> = {
  float32: DataType.FLOAT,
  float16: DataType.FLOAT16,
  float64: DataType.DOUBLE,
  int64: DataType.INT64,
  int32: DataType.INT32,
  int16: DataType.INT16,
  int8: DataType.INT8,
  uint64: DataType.UINT64,
  uint32: DataType.UINT32,
  uint16: DataType.UINT16,
  uint8: DataType.UINT8,
  bool: DataType.BOOL,
};

export function writeSegment(
  model: ModelProto,
  view: GraphView,
  contents: SegmentContents,
): SegmentModel {
  const { nodes, edgeInputs, outputs } = contents;
  const read = new Set([...nodes.flatMap(inputsOf), ...contents.graphInputs]);
  const made = new Set(nodes.flatMap((node) => node.output));
  const external: ExternalBytes[] = [];
  const ofGraph = view.graph.initializer.filter((tensor) => read.has(tensor.name));
  const initializer = [...ofGraph, ...contents.initializers].map((tensor) => {
    if (tensor.rawData.length < EXTERNAL_BYTES) return tensor;
    const path = `weights.${external.length}`;
    external.push({ path, data: tensor.rawData });
    return pointer(tensor, path);
  });
  const segment = create(ModelProtoSchema, {
    irVersion: model.irVersion,
    opsetImport: model.opsetImport,
    functions: model.functions,
    graph: create(GraphProtoSchema, {
      name: view.graph.name,
      node: [...nodes],
      initializer,
      input: [
        ...view.graph.input.filter(({ name }) => contents.graphInputs.includes(name)),
        ...edgeInputs.map(valueInfo),
      ],
      output: outputs.map((name) => create(ValueInfoProtoSchema, { name })),
      valueInfo: view.graph.valueInfo.filter(
        ({ name }) => made.has(name) && !outputs.includes(name),
      ),
    }),
  });
  return { bytes: toBinary(ModelProtoSchema, segment), external };
}

function pointer(tensor: TensorProto, path: string): TensorProto {
  const entries = { location: path, offset: '0', length: `${tensor.rawData.length}` };
  return create(TensorProtoSchema, {
    name: tensor.name,
    dataType: tensor.dataType,
    dims: tensor.dims,
    dataLocation: DataLocation.EXTERNAL,
    externalData: Object.entries(entries).map(([key, value]) =>
      create(StringStringEntryProtoSchema, { key, value }),
    ),
  });
}

/** Only ranks and fixed sizes are said of a shape: names of dynamic dimensions mean something in one graph alone. */
function valueInfo({ name, type, shape }: EdgeValue): ValueInfoProto {
  const elemType = DATA_TYPES[type];
  if (elemType === undefined) throw new TypeError(`${name} has the type ${type}`);
  const dim = (shape ?? []).map((size) =>
    create(TensorShapeProto_DimensionSchema, {
      ...(typeof size === 'number' &&
        size >= 0 && { value: { case: 'dimValue', value: BigInt(size) } }),
    }),
  );
  // onnxruntime gives no dimensions for a scalar and for a value of which it knows nothing.
  const known = dim.length > 0 ? { shape: { dim } } : {};
  return create(ValueInfoProtoSchema, {
    name,
    type: { value: { case: 'tensorType', value: { elemType, ...known } } },
  });
}
