/** Snapshots of a cache, restored: mutants have a checksum that fits, or nothing behind it would be reached. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Cache, Sequence } from '@lowbit-kv/core';
import {
  decodedSequences,
  snapshotCache,
} from '../../../../packages/core/scripts/golden-snapshot.js';
import { joined, mutateBytes } from '../mutate/bytes.js';
import { mutateJson } from '../mutate/json.js';
import type { Random } from '../random.js';
import { mustHold, type Target } from '../target.js';

const FILE = new URL('../../../../packages/core/test/golden/snapshot.bin', import.meta.url);
const PREFIX = 12;
const CHECKSUM = 32;

export const snapshot: Target = {
  name: 'snapshot',
  codes: ['SNAPSHOT_INVALID', 'SNAPSHOT_MISMATCH', 'BLOCK_INVALID', 'OUT_OF_PAGES'],
  async open() {
    const golden = new Uint8Array(readFileSync(FILE));
    const cache = await snapshotCache();
    const other = await snapshotCache();
    return {
      mutant: (random) => mutateSnapshot(random, golden),
      async check(mutant) {
        const before = JSON.stringify(await cache.stats());
        try {
          await mustRestore(cache, other, mutant);
        } finally {
          mustHold(JSON.stringify(await cache.stats()) === before, 'pages stay taken');
        }
      },
    };
  },
};

/** What was restored is what a snapshot of it restores to elsewhere, to the bit. */
async function mustRestore(cache: Cache, other: Cache, mutant: Uint8Array): Promise<void> {
  const sequences = await cache.restore(mutant);
  const copies: Sequence[] = [];
  try {
    const values = await decodedSequences(cache, sequences);
    mustHold(values.every(Number.isFinite), 'a value that is not finite');
    const again = await cache.snapshot(sequences);
    copies.push(...(await other.restore(again)));
    const copied = await decodedSequences(other, copies);
    mustHold(Buffer.compare(bytesOf(values), bytesOf(copied)) === 0, 'values of a second snapshot');
    const third = await other.snapshot(copies);
    mustHold(Buffer.compare(third, again) === 0, 'bytes of a second snapshot');
  } finally {
    for (const sequence of sequences) cache.disposeSequence(sequence);
    for (const sequence of copies) other.disposeSequence(sequence);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

export function mutateSnapshot(random: Random, file: Uint8Array): Uint8Array {
  if (random.chance(0.05)) return mutateBytes(random, file);
  const length = new DataView(file.buffer, file.byteOffset).getUint32(8, true);
  let header = file.subarray(PREFIX, PREFIX + length);
  let payload = file.subarray(PREFIX + length, file.length - CHECKSUM);
  if (random.chance(0.5)) header = mutateJson(random, JSON.parse(new TextDecoder().decode(header)));
  else payload = mutateBytes(random, payload);
  const prefix = file.slice(0, PREFIX);
  new DataView(prefix.buffer).setUint32(8, header.length, true);
  const body = joined(random.chance(0.03) ? mutateBytes(random, prefix) : prefix, header, payload);
  return joined(body, createHash('sha256').update(body).digest());
}
