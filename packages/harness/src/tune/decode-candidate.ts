/**
 * A candidate through a real cache: one layer of the capture is packed as a prompt and read back.
 */
import { type Backend, createCache, f16Tensor, type Geometry } from '@lowbit-kv/core';
import type { CaptureData } from '../capture-data.js';
import { attendedKeys } from '../held-cache.js';
import { keysAt, stageOf } from '../pre-rope.js';
import { type Candidate, planOf, type TuneWindows } from './candidates.js';
import type { DecodedTensor } from './layer-errors.js';

/** Throws what packing throws: OUTLIER_CAPACITY when the data do not fit. */
export async function decodeCandidate(
  data: CaptureData,
  place: number,
  candidate: Candidate,
  windows: TuneWindows,
  backend: Backend,
  geometry: Geometry,
): Promise<DecodedTensor> {
  const { tokens, kvHeads, keyHeadDim, valueHeadDim } = data.sizes;
  const layer = data.layers[place] as CaptureData['layers'][number];
  const { tensor, rule, scheme } = candidate;
  if (scheme.bits === 16) return { values: layer.exact[tensor], window: layer.exact[tensor], rule };
  const stage = tensor === 'key' ? stageOf(scheme) : 'post-rope';
  const key = keysAt(layer, stage);
  const plan = planOf(candidate, windows, { ...geometry, layers: 1 }, place);
  const cache = await createCache(plan, backend, { capacity: { tokens } });
  try {
    const sequence = cache.createSequence();
    await cache.append(
      [{ sequence, tokens }],
      [
        {
          key: f16Tensor(key.bits, [tokens, kvHeads, keyHeadDim]),
          value: f16Tensor(layer.value, [tokens, kvHeads, valueHeadDim]),
        },
      ],
    );
    const held = await cache.materialize(sequence, 0);
    const values = held[tensor].data as Float32Array;
    if (tensor === 'value') return { values, window: layer.exact.value, rule };
    return {
      values: attendedKeys(values, data, stage),
      window: attendedKeys(key.exact, data, stage),
      rule,
    };
  } finally {
    cache.dispose();
  }
}
