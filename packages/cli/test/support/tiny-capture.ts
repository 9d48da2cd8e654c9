/** A small capture with outlier channels: two layers, 4 query heads on 2 kv heads of 32 channels, 200 tokens. */
import { lcgNormal } from '@lowbit-kv/core/testing';
import { type TensorToWrite, writeSafetensors } from '@lowbit-kv/harness';

export const TINY_CAPTURE = {
  layers: [0, 5],
  queryHeads: 4,
  kvHeads: 2,
  headDim: 32,
  tokens: 200,
  queries: 6,
} as const;

export async function writeTinyCapture(
  file: string,
  metadata: Readonly<Record<string, string>> = {},
  headDim: number = TINY_CAPTURE.headDim,
): Promise<void> {
  const { layers, queryHeads, kvHeads, tokens, queries } = TINY_CAPTURE;
  let seed = 7;
  const tensor = (name: string, heads: number, rows: number): TensorToWrite => {
    const shape = [1, heads, rows, headDim];
    const channelOps = name.endsWith('value') ? [] : [{ channel: 3, mul: 6, add: 0 }];
    return {
      name,
      dtype: 'F16',
      shape,
      data: lcgNormal({ seed: seed++, shape, dtype: 'f16', channelOps }),
    };
  };
  await writeSafetensors(
    file,
    layers.flatMap((layer) => [
      tensor(`layers.${layer}.key`, kvHeads, tokens),
      tensor(`layers.${layer}.value`, kvHeads, tokens),
      tensor(`layers.${layer}.query`, queryHeads, queries),
    ]),
    { format: 'lowbit-kv-capture', version: '1', scale: '0.1', model: 'made up', ...metadata },
  );
}
