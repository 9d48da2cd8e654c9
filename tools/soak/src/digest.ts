/**
 * Everything that a cache stores of sequences, as one digest.
 */
import { createHash } from 'node:crypto';
import type { Cache, Sequence } from '@lowbit-kv/core';

export async function digestOf(cache: Cache, sequences: readonly Sequence[]): Promise<string> {
  const hash = createHash('sha256');
  const add = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
    hash.update(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
  const layers = new Set(cache.plan.layers.map(({ layer }) => layer));
  for (const sequence of sequences) {
    hash.update(`${sequence.length} tokens`);
    for (const layer of layers) {
      const { key, value, keyPositions } = await cache.materialize(sequence, layer);
      hash.update(keyPositions.join());
      add(key.data);
      add(value.data);
      for (const tensor of ['key', 'value'] as const)
        for (const block of await cache.exportBlocks(sequence, layer, tensor)) add(block.bytes);
    }
  }
  add(await cache.snapshot(sequences));
  return hash.digest('hex');
}
