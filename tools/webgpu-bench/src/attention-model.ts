/**
 * An ONNX model of one GroupQueryAttention node: a decode step over a cache that the caller holds.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import {
  AttributeProto_AttributeType,
  AttributeProtoSchema,
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  TensorProto_DataType,
  TensorShapeProto_DimensionSchema,
  ValueInfoProtoSchema,
} from 'onnx-buf';

export interface AttentionShape {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly type: 'float16' | 'float32';
}

type Dims = readonly (number | string)[];

export function attentionModel(shape: AttentionShape): Uint8Array {
  const { queryHeads, kvHeads, headDim, type } = shape;
  const float = type === 'float16' ? TensorProto_DataType.FLOAT16 : TensorProto_DataType.FLOAT;
  const { INT32 } = TensorProto_DataType;
  const row = (heads: number): Dims => ['batch', 1, heads * headDim];
  const held = (length: string): Dims => ['batch', kvHeads, length, headDim];
  const inputs = [
    value('query', float, row(queryHeads)),
    value('key', float, row(kvHeads)),
    value('value', float, row(kvHeads)),
    value('past_key', float, held('past')),
    value('past_value', float, held('past')),
    value('seqlens_k', INT32, ['batch']),
    value('total_sequence_length', INT32, [1]),
  ];
  const outputs = [
    value('output', float, row(queryHeads)),
    value('present_key', float, held('present')),
    value('present_value', float, held('present')),
  ];
  const node = create(NodeProtoSchema, {
    opType: 'GroupQueryAttention',
    domain: 'com.microsoft',
    name: 'attention',
    input: inputs.map(({ name }) => name),
    output: outputs.map(({ name }) => name),
    attribute: [integer('num_heads', queryHeads), integer('kv_num_heads', kvHeads)],
  });
  return toBinary(
    ModelProtoSchema,
    create(ModelProtoSchema, {
      irVersion: 10n,
      opsetImport: [
        create(OperatorSetIdProtoSchema, { domain: '', version: 18n }),
        create(OperatorSetIdProtoSchema, { domain: 'com.microsoft', version: 1n }),
      ],
      graph: create(GraphProtoSchema, {
        name: 'attention',
        node: [node],
        input: inputs,
        output: outputs,
      }),
    }),
  );
}

function integer(name: string, i: number) {
  const type = AttributeProto_AttributeType.INT;
  return create(AttributeProtoSchema, { name, type, i: BigInt(i) });
}

function value(name: string, elemType: TensorProto_DataType, dims: Dims) {
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
