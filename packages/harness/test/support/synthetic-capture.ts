/** Captures of generated data, in memory: normal keys, values and queries, keys with channels of unequal size. */
import { type ChannelOperation, lcgNormal } from '@lowbit-kv/core/testing';
import { type Capture, openCapture } from '../../src/index.js';
import { safetensorsBytes, type TestTensor } from './safetensors-bytes.js';

export interface SyntheticCapture {
  readonly layers: readonly number[];
  readonly kvHeads: number;
  readonly queryHeads: number;
  readonly tokens: number;
  readonly queries: number;
  readonly headDim: number;
  /** Of values, where they differ. */
  readonly valueHeadDim?: number;
  readonly keyChannels: readonly ChannelOperation[];
  readonly metadata: Readonly<Record<string, string>>;
  /** All layers hold the same data. */
  readonly equalLayers: boolean;
}

export const SYNTHETIC: SyntheticCapture = {
  layers: [2, 5],
  kvHeads: 2,
  queryHeads: 4,
  tokens: 160,
  queries: 12,
  headDim: 32,
  keyChannels: [
    { channel: 3, mul: 4, add: 0 },
    { channel: 4, mul: 0.25, add: 0 },
    { channel: 20, mul: 1, add: 6 },
  ],
  metadata: {},
  equalLayers: false,
};

function drawn(seed: number, shape: number[], channelOps: readonly ChannelOperation[]): TestTensor {
  return { dtype: 'F16', shape, data: lcgNormal({ seed, shape, dtype: 'f16', channelOps }) };
}

export async function syntheticCapture(changes: Partial<SyntheticCapture> = {}): Promise<Capture> {
  const made = { ...SYNTHETIC, ...changes };
  const { kvHeads, queryHeads, tokens, queries, headDim, valueHeadDim = headDim } = made;
  const tensors: Record<string, TestTensor> = {};
  for (const layer of made.layers) {
    const seed = made.equalLayers ? 100 : 100 * layer;
    tensors[`layers.${layer}.key`] = drawn(
      seed + 1,
      [1, kvHeads, tokens, headDim],
      made.keyChannels,
    );
    tensors[`layers.${layer}.value`] = drawn(seed + 2, [1, kvHeads, tokens, valueHeadDim], []);
    tensors[`layers.${layer}.query`] = drawn(seed + 3, [1, queryHeads, queries, headDim], []);
  }
  return openCapture(
    safetensorsBytes(tensors, {
      format: 'lowbit-kv-capture',
      version: '1',
      scale: String(1 / Math.sqrt(headDim)),
      ...made.metadata,
    }),
  );
}
