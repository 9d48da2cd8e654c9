/**
 * Everything that can be seen of sequences, as text and digests, to compare before and after.
 */
import { createHash } from 'node:crypto';
import type { Cache, Sequence } from '../../src/index.js';
import { ask } from './pointer-cache.js';

/** Lengths, exported bytes, decoded values, attention, statistics and the snapshot. */
export async function observe(cache: Cache, sequences: readonly Sequence[]): Promise<string> {
  const seen: unknown[] = [await cache.stats()];
  for (const sequence of sequences) {
    seen.push(sequence.length);
    for (const { layer } of cache.plan.layers) {
      for (const tensor of ['key', 'value'] as const) {
        for (const { position, validTokens, bytes } of await cache.exportBlocks(
          sequence,
          layer,
          tensor,
        ))
          seen.push(position, validTokens, digest(bytes));
      }
      const { key, value } = await cache.materialize(sequence, layer);
      seen.push(digest(key.data), digest(value.data));
      const { output, logSumExp } = await ask(cache, sequence, null, layer);
      seen.push(digest(output), Array.from(logSumExp, String));
    }
  }
  seen.push(digest(await cache.snapshot(sequences)));
  return JSON.stringify(seen);
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function digest({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  const bytes = new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
  return createHash('sha256').update(bytes).digest('hex');
}
