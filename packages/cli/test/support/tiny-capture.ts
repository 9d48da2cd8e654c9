/** A small capture with outlier channels: two layers, 4 query heads on 2 kv heads of 32 channels, 200 tokens. */
import { encodeF16 } from '@lowbit-kv/core';
import { type TensorToWrite, writeSafetensors } from '@lowbit-kv/harness';
import { normalDraws } from './normal-draws.js';

export const TINY_CAPTURE = {
  layers: [0, 5],
  queryHeads: 4,
  kvHeads: 2,
  headDim: 32,
  tokens: 200,
  queries: 6,
} as const;

export async function writeTinyCapture(file: string): Promise<void> {
  const { layers, queryHeads, kvHeads, headDim, tokens, queries } = TINY_CAPTURE;
  const draw = normalDraws(7);
  const tensor = (name: string, heads: number, rows: number): TensorToWrite => {
    const outliers = name.endsWith('value') ? 1 : 6;
    const values = Float32Array.from({ length: heads * rows * headDim }, (_, i) =>
      i % headDim === 3 ? outliers * draw() : draw(),
    );
    return { name, dtype: 'F16', shape: [1, heads, rows, headDim], data: encodeF16(values) };
  };
  await writeSafetensors(
    file,
    layers.flatMap((layer) => [
      tensor(`layers.${layer}.key`, kvHeads, tokens),
      tensor(`layers.${layer}.value`, kvHeads, tokens),
      tensor(`layers.${layer}.query`, queryHeads, queries),
    ]),
    { format: 'lowbit-kv-capture', version: '1', scale: '0.1', model: 'made up' },
  );
}
