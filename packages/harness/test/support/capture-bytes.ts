/** Builds small captures in memory, valid until a test changes a part. */
import { safetensorsBytes, type TestTensor } from './safetensors-bytes.js';

export interface SmallCapture {
  readonly tensors: Record<string, TestTensor>;
  readonly metadata: Record<string, string>;
}

/** f16 bits whose place can be told from the value: never NaN, never infinite. */
function distinctF16(length: number, start: number): Uint16Array {
  return Uint16Array.from({ length }, (_, i) => 0x2000 + ((start + i * 7) % 0x3000));
}

export function f16Tensor(shape: number[], start = 0): TestTensor {
  const length = shape.reduce((product, n) => product * n, 1);
  return { dtype: 'F16', shape, data: distinctF16(length, start) };
}

/** Layers 3 and 11; 4 query heads on 2 kv heads, 5 tokens, 3 queries, key dim 8, value dim 6. */
export function smallCapture(): SmallCapture {
  const tensors: Record<string, TestTensor> = {};
  for (const layer of [11, 3]) {
    tensors[`layers.${layer}.key`] = f16Tensor([1, 2, 5, 8], layer);
    tensors[`layers.${layer}.value`] = f16Tensor([1, 2, 5, 6], layer + 1);
    tensors[`layers.${layer}.query`] = f16Tensor([1, 4, 3, 8], layer + 2);
  }
  const metadata = { format: 'lowbit-kv-capture', version: '1', scale: '0.25', model: 'made up' };
  return { tensors, metadata };
}

/** The small capture after `change`, as a file. */
export function captureBytes(change: (capture: SmallCapture) => void = () => undefined) {
  const capture = smallCapture();
  change(capture);
  return safetensorsBytes(capture.tensors, capture.metadata);
}
