/**
 * What a cache holds after a replay: decoded keys and values, which tokens are packed, and how far they are off.
 */
import { type Cache, type ExportedBlock, LowbitKvError, type Sequence } from '@lowbit-kv/core';
import type { CaptureData } from './capture-data.js';
import { addSums, type ErrorSum, errorSum, meanOf, nmseOf } from './metrics.js';
import { keysAt, type Stage } from './pre-rope.js';
import { keyStage } from './replay.js';
import { finiteOrNull, type TensorError } from './report.js';
import { requireRotary, rotateKeys } from './rotary.js';
import { headErrors, tensorError } from './tensor-error.js';

export interface HeldLayer {
  /** Decoded, `[tokens, kvHeads, keyHeadDim]`, rotated to their positions. */
  readonly key: Float32Array;
  readonly value: Float32Array;
}

export interface HeldCache {
  readonly layers: readonly HeldLayer[];
  readonly key: TensorError;
  readonly value: TensorError;
  /** Bytes of packed blocks that were read back. */
  readonly packedBytes: number;
}

interface LayerErrors {
  /** By kv head. */
  readonly heads: readonly ErrorSum[];
  readonly packed: ErrorSum | null;
}

/** Reads the whole cache back. */
export async function readHeldCache(
  data: CaptureData,
  cache: Cache,
  sequence: Sequence,
): Promise<HeldCache> {
  const { kvHeads, keyHeadDim, valueHeadDim } = data.sizes;
  const layers: HeldLayer[] = [];
  const errors = { key: [] as LayerErrors[], value: [] as LayerErrors[] };
  let packedBytes = 0;
  for (const [i, captured] of data.layers.entries()) {
    const held = await cache.materialize(sequence, i);
    requireAllTokens(held.keyPositions, data.sizes.tokens, captured.index);
    requireAllTokens(held.valuePositions, data.sizes.tokens, captured.index);
    const stage = keyStage(cache.plan, i);
    const stored = { key: held.key.data as Float32Array, value: held.value.data as Float32Array };
    layers.push({ ...stored, key: attendedKeys(stored.key, data, stage) });
    const captures = { key: keysAt(captured, stage).exact, value: captured.exact.value };
    for (const tensor of ['key', 'value'] as const) {
      const dim = tensor === 'key' ? keyHeadDim : valueHeadDim;
      const exact = captures[tensor];
      const packed: ErrorSum[] = [];
      for (const block of await cache.exportBlocks(sequence, i, tensor)) {
        packedBytes += block.bytes.length;
        for (const [first, end] of rangesOf(block, kvHeads, dim))
          packed.push(errorSum(stored[tensor], exact, first, end));
      }
      errors[tensor].push({
        heads: headErrors(stored[tensor], exact, kvHeads, dim),
        packed: packed.length === 0 ? null : addSums(packed),
      });
    }
  }
  const numbers = data.layers.map(({ index }) => index);
  return {
    layers,
    key: withPacked(errors.key, numbers),
    value: withPacked(errors.value, numbers),
    packedBytes,
  };
}

/** Keys as attention meets them. */
export function attendedKeys(stored: Float32Array, data: CaptureData, stage: Stage): Float32Array {
  if (stage === 'post-rope') return stored;
  const { embedding } = requireRotary(data.rotary);
  return Float32Array.from(rotateKeys(stored, data.sizes, embedding, 0));
}

/** Elements `[first, end)` of `[tokens, kvHeads, dim]` that a block holds. */
function rangesOf(
  { heads, position, validTokens }: ExportedBlock,
  kvHeads: number,
  dim: number,
): [first: number, end: number][] {
  const width = kvHeads * dim;
  if (heads.length === kvHeads) return [[position * width, (position + validTokens) * width]];
  return Array.from({ length: validTokens }, (_, i) =>
    heads.map((head): [number, number] => {
      const first = (position + i) * width + head * dim;
      return [first, first + dim];
    }),
  ).flat();
}

function withPacked(errors: readonly LayerErrors[], numbers: readonly number[]): TensorError {
  const packed = errors.flatMap((layer) => (layer.packed === null ? [] : [nmseOf(layer.packed)]));
  const { nmse, ...places } = tensorError(
    errors.map(({ heads }) => heads),
    numbers,
  );
  // Keys in the order of the report's schema.
  return {
    nmse,
    packedNmse: packed.length === 0 ? null : finiteOrNull(meanOf(packed)),
    ...places,
  };
}

function requireAllTokens(positions: readonly number[], tokens: number, layer: number): void {
  if (positions.length === tokens && positions.every((position, i) => position === i)) return;
  throw new LowbitKvError('MEASUREMENT_INVALID', {
    message: 'the cache does not hold the tokens that were appended',
    value: `${positions.length} tokens`,
    valid: `every position from 0 to ${tokens - 1}`,
    next: 'Report this with the scheme and the capture; the figures of this run must not be used.',
    where: { layer },
  });
}
