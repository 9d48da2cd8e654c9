/**
 * Snapshots of a program: restored beside what they are of, or everything into other caches.
 */
import type { Backend } from '../backend.js';
import type { Cache } from '../cache/cache.js';
import type { Sequence } from '../cache/sequence.js';
import { ensureSame } from '../contract/check.js';
import { LowbitKvError } from '../errors.js';
import { referenceBackend } from '../reference/reference-backend.js';
import type { RunContext } from './attend-command.js';
import type { Pair } from './pair.js';

/** New pairs, none where there are too few pages; `check`: their snapshot is the one that they come from. */
export async function restoreHere(
  { cache, tally }: RunContext,
  pairs: readonly Pair[],
): Promise<{ readonly restored: Pair[]; readonly check: () => Promise<void> }> {
  const bytes = await cache.snapshot(pairs.map(({ sequence }) => sequence));
  let sequences: Sequence[];
  try {
    sequences = await cache.restore(bytes);
  } catch (error) {
    if (!LowbitKvError.is(error, 'OUT_OF_PAGES')) throw error;
    tally.add('restore out of pages');
    return { restored: [], check: async () => undefined };
  }
  tally.add('restored');
  const restored = pairs.map(({ model, longest }, i) => {
    return { sequence: sequences[i] as Sequence, model: model.copy(), longest };
  });
  return { restored, check: () => ensureSnapshot(cache, sequences, bytes) };
}

/**
 * All sequences into a cache of the reference backend and into a new one, which is given; a cache of the same capacity has room
 * for them. When it fails the pairs stay where they are.
 */
export async function moveAll(
  { cache, tally }: RunContext,
  pairs: readonly Pair[],
  open: (backend?: Backend) => Promise<Cache>,
): Promise<Cache> {
  const bytes = await cache.snapshot(pairs.map(({ sequence }) => sequence));
  const reference = await open(referenceBackend());
  await ensureSnapshot(reference, await reference.restore(bytes), bytes);
  reference.dispose();
  const next = await open();
  try {
    const restored = await next.restore(bytes);
    await ensureSnapshot(next, restored, bytes);
    for (const [i, pair] of pairs.entries()) pair.sequence = restored[i] as Sequence;
  } catch (error) {
    next.dispose();
    throw error;
  }
  tally.add('moved');
  return next;
}

async function ensureSnapshot(
  cache: Cache,
  sequences: readonly Sequence[],
  bytes: Uint8Array,
): Promise<void> {
  ensureSame(await cache.snapshot(sequences), bytes, 'the snapshot of what was restored');
}
