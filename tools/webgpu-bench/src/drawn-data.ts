/**
 * Keys, values and queries that the benchmark draws: near normal, keys with loud and shifted channels as models have them.
 */
import { type DrawnArray, type DrawnDtype, lcgNormal } from '@lowbit-kv/core/testing';

const KEY_CHANNELS = [
  { channel: 3, mul: 4, add: 0 },
  { channel: 45, mul: 1, add: 1.5 },
  { channel: 77, mul: 3, add: -1 },
] as const;
const VALUE_CHANNELS = [{ channel: 20, mul: 2, add: 0.25 }] as const;

export function drawnKeys<Dtype extends DrawnDtype>(
  shape: readonly number[],
  seed: number,
  dtype: Dtype,
): DrawnArray<Dtype> {
  return lcgNormal({ seed, shape, dtype, channelOps: KEY_CHANNELS });
}

export function drawnValues<Dtype extends DrawnDtype>(
  shape: readonly number[],
  seed: number,
  dtype: Dtype,
): DrawnArray<Dtype> {
  return lcgNormal({ seed, shape, dtype, channelOps: VALUE_CHANNELS });
}

export function drawnQueries(shape: readonly number[], seed: number): Float32Array {
  return lcgNormal({ seed, shape, dtype: 'f32' });
}
