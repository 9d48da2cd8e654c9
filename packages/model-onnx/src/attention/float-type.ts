/**
 * Element types that attention is taken over in.
 */
import { TensorProto_DataType as DataType } from 'onnx-buf';
import type { GraphView } from './graph-view.js';

/** Of the first value that is float32 or float16; null where none is. */
export function floatTypeOf(
  view: GraphView,
  ...names: readonly string[]
): 'float32' | 'float16' | null {
  for (const name of names) {
    const type = view.elementType(name);
    if (type === DataType.FLOAT) return 'float32';
    if (type === DataType.FLOAT16) return 'float16';
  }
  return null;
}
