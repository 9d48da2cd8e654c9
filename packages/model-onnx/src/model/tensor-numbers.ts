/**
 * Tensors of a model file read as numbers, from raw or typed data.
 */
import { f16ToF32, LowbitKvError } from '@lowbit-kv/core';
import { TensorProto_DataType as DataType, type TensorProto } from 'onnx-buf';

type NumberReader = (view: DataView, offset: number) => number;

/** Bytes of an element, and how it is read. */
const READERS: Readonly<Partial<Record<DataType, readonly [bytes: number, read: NumberReader]>>> = {
  [DataType.FLOAT]: [4, (view, at) => view.getFloat32(at, true)],
  [DataType.DOUBLE]: [8, (view, at) => view.getFloat64(at, true)],
  [DataType.FLOAT16]: [2, (view, at) => f16ToF32(view.getUint16(at, true))],
  [DataType.BFLOAT16]: [2, (view, at) => widenBfloat16(view.getUint16(at, true))],
  [DataType.INT64]: [8, (view, at) => Number(view.getBigInt64(at, true))],
  [DataType.INT32]: [4, (view, at) => view.getInt32(at, true)],
  [DataType.INT8]: [1, (view, at) => view.getInt8(at)],
  [DataType.UINT8]: [1, (view, at) => view.getUint8(at)],
  [DataType.BOOL]: [1, (view, at) => view.getUint8(at)],
};

export function elementCountOf(tensor: TensorProto): number {
  return tensor.dims.reduce((product, dim) => product * Number(dim), 1);
}

/** Null for element types that are no plain numbers (strings, 4 bits). Throws MODEL_INVALID for a wrong size. */
export function tensorNumbers(tensor: TensorProto): Float64Array | null {
  const reader = READERS[tensor.dataType as DataType];
  if (reader === undefined) return null;
  const [bytes, read] = reader;
  const count = elementCountOf(tensor);
  const { rawData } = tensor;
  if (rawData.length > 0) {
    requireSize(tensor, rawData.length / bytes, count);
    const view = new DataView(rawData.buffer, rawData.byteOffset, rawData.byteLength);
    return Float64Array.from({ length: count }, (_, i) => read(view, i * bytes));
  }
  const typed = typedData(tensor);
  requireSize(tensor, typed.length, count);
  return Float64Array.from(typed);
}

/** f16 and bf16 lie in `int32Data` as their bits. */
function typedData(tensor: TensorProto): readonly number[] {
  switch (tensor.dataType) {
    case DataType.FLOAT:
      return tensor.floatData;
    case DataType.DOUBLE:
      return tensor.doubleData;
    case DataType.INT64:
      return tensor.int64Data.map(Number);
    case DataType.FLOAT16:
      return tensor.int32Data.map(f16ToF32);
    case DataType.BFLOAT16:
      return tensor.int32Data.map(widenBfloat16);
    default:
      return tensor.int32Data;
  }
}

function widenBfloat16(bits: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint16(0, bits);
  return view.getFloat32(0);
}

function requireSize(tensor: TensorProto, elements: number, expected: number): void {
  if (elements === expected) return;
  throw new LowbitKvError('MODEL_INVALID', {
    message: `tensor ${tensor.name} of the model does not have the size of its shape`,
    value: `${elements} elements`,
    valid: `${expected} elements, shape [${tensor.dims.join(', ')}]`,
    next: 'Fetch or export the model again.',
    where: { tensor: tensor.name },
  });
}
