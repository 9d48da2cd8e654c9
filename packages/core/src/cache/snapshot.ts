/**
 * Snapshots: a checked container of sequences and their canonical pages. docs/block-format.md draws it.
 *
 * `LBKV`, u32 version, u32 header length, header JSON, payload pages, SHA-256 of everything before it. Little endian.
 */
import type { BlockStore, PageKind } from '../backend.js';
import { LowbitKvError } from '../errors.js';
import { pausedChecksum } from '../fingerprint.js';
import { type Pause, pauseFor } from '../pause.js';
import { canonicalizePage } from '../plan/canonical.js';
import type { LayerUnit } from '../plan/model-layers.js';
import { type Plan, type TensorPlan, WINDOW_PAGE_TOKENS } from '../plan/plan.js';
import { checkHeader, checkPages } from './check-snapshot.js';
import { type HeldPage, type PagePool, Reservation } from './page-pool.js';
import { pageBytes, readPages } from './read-pages.js';
import type { Sequence } from './sequence.js';
import {
  invalidSnapshot,
  PAGE_KINDS,
  type PageCounts,
  pageCount,
  parseSnapshotHeader,
  type SnapshotHeader,
  snapshotSections,
} from './snapshot-header.js';
import { type SnapshotOptions, SnapshotRun } from './snapshot-progress.js';
import type { Entry, TensorState } from './tensor-state.js';

export const SNAPSHOT_VERSION = 1;
const MAGIC = [0x4c, 0x42, 0x4b, 0x56];
const PREFIX_BYTES = 12;
const CHECKSUM_BYTES = 32;

interface SlotRange {
  first: number;
  end: number;
}

/** Renumbers the pages of one class in order of first appearance, and notes which slots of them are in use. */
class Renumbering {
  readonly pages: Record<PageKind, number[]> = { packed: [], window: [], statistics: [] };
  readonly slots: Record<Entry['kind'], SlotRange[]> = { packed: [], window: [] };
  readonly #numbers = new Map<string, number>();

  number(kind: PageKind, page: number): number {
    const key = `${kind} ${page}`;
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.pages[kind].push(page) - 1;
      this.#numbers.set(key, number);
    }
    return number;
  }

  /** The entry with the number of its page. */
  renumber(entry: Entry): Entry {
    const page = this.number(entry.kind, entry.page);
    const used = this.slots[entry.kind];
    const range = used[page] ?? { first: entry.slot, end: entry.slot };
    used[page] = {
      first: Math.min(range.first, entry.slot),
      end: Math.max(range.end, entry.slot + entry.count),
    };
    return { ...entry, page };
  }
}

export async function writeSnapshot(
  plan: Plan,
  store: BlockStore,
  sequences: readonly Sequence[],
  options: SnapshotOptions,
): Promise<Uint8Array> {
  const classes = plan.classes.map(() => new Renumbering());
  const header: SnapshotHeader = {
    fingerprint: plan.fingerprint,
    scheme: plan.scheme.id,
    pages: [],
    sequences: sequences.map((sequence) => ({
      length: sequence.length,
      states: sequence.states.map((state, i) => {
        const numbers = classes[i] as Renumbering;
        return {
          entries: state.entries.map((entry) => numbers.renumber(entry)),
          statistics: state.statistics < 0 ? -1 : numbers.number('statistics', state.statistics),
        };
      }),
    })),
  };
  header.pages = classes.map(({ pages, slots }) => ({
    packed: slots.packed.map(({ end }) => end),
    window: pages.window.length,
    statistics: pages.statistics.length,
  }));
  const run = new SnapshotRun(options, payloadBytes(header, plan));
  const chunks: Uint8Array[] = [];
  await eachTensor(plan, async (tensor, unit) => {
    const { pages, slots } = classes[tensor.class] as Renumbering;
    for (const kind of PAGE_KINDS) {
      if (pages[kind].length === 0) continue;
      await run.pause();
      const bytes = await readPages(store, unit, tensor.tensor, kind, pages[kind]);
      const size = pageBytes(tensor, kind);
      for (const [i] of pages[kind].entries()) {
        const page = bytes.subarray(i * size, (i + 1) * size);
        if (kind === 'packed' && tensor.layout !== null)
          canonicalizePage(tensor.layout, page, (slots.packed[i] as SlotRange).end);
        else if (kind === 'window') clearUnusedSlots(tensor, page, slots.window[i] as SlotRange);
      }
      chunks.push(bytes);
      run.did(bytes.length);
    }
  });
  return seal(new TextEncoder().encode(JSON.stringify(header)), chunks, run.pause);
}

/** Unused slots may hold tokens of other sequences: they must not leave the cache. */
function clearUnusedSlots(tensor: TensorPlan, page: Uint8Array, { first, end }: SlotRange): void {
  const slotBytes = tensor.headDim * 2;
  const headBytes = WINDOW_PAGE_TOKENS * slotBytes;
  for (let base = 0; base < page.length; base += headBytes) {
    page.fill(0, base, base + first * slotBytes);
    page.fill(0, base + end * slotBytes, base + headBytes);
  }
}

async function seal(
  header: Uint8Array,
  chunks: readonly Uint8Array[],
  pause: Pause,
): Promise<Uint8Array> {
  const payload = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const bytes = new Uint8Array(PREFIX_BYTES + header.length + payload + CHECKSUM_BYTES);
  bytes.set(MAGIC);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, SNAPSHOT_VERSION, true);
  view.setUint32(8, header.length, true);
  bytes.set(header, PREFIX_BYTES);
  let at = PREFIX_BYTES + header.length;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  bytes.set(await pausedChecksum(bytes.subarray(0, at), pause), at);
  return bytes;
}

export interface RestoredSequence {
  readonly length: number;
  readonly states: TensorState[];
}

export interface RestoreOptions extends SnapshotOptions {
  /** Whether f16 tokens that are not finite are refused. */
  readonly nonFinite: 'error' | 'mask';
}

/** Checks everything, then takes pages and fills them. On any error nothing is taken. */
export async function readSnapshot(
  bytes: Uint8Array,
  plan: Plan,
  store: BlockStore,
  pools: readonly PagePool[],
  options: RestoreOptions,
): Promise<RestoredSequence[]> {
  const { header, payload } = await open(bytes, pauseFor(options.signal));
  if (header.fingerprint !== plan.fingerprint) {
    throw new LowbitKvError('SNAPSHOT_MISMATCH', {
      message: `the snapshot was taken with another plan (scheme ${JSON.stringify(header.scheme)})`,
      value: header.fingerprint,
      valid: plan.fingerprint,
      next: 'Restore into a cache made with the same scheme, geometry, calibration and block size.',
    });
  }
  checkHeader(header, plan);
  const expected = payloadBytes(header, plan);
  if (payload.length !== expected)
    invalidSnapshot('the payload has the wrong size', payload.length, `${expected} bytes`);
  const run = new SnapshotRun(options, expected);
  await checkPages(header, plan, payload, options.nonFinite, run.pause);

  const reservations = pools.map((pool) => new Reservation(pool));
  const taken = header.pages.map((counts, i) => takePages(counts, reservations[i] as Reservation));
  const undo = () => {
    for (const reservation of reservations) reservation.undo();
  };
  for (const [i, reservation] of reservations.entries()) {
    const kind = PAGE_KINDS.find((k) => reservation.missing[k] > 0);
    if (kind === undefined) continue;
    const needed =
      reservation.taken.filter((held: HeldPage) => held.kind === kind).length +
      reservation.missing[kind];
    undo();
    throw new LowbitKvError('OUT_OF_PAGES', {
      message: `the snapshot needs more ${kind} pages of the ${plan.classes[i]?.tensor}s than are free`,
      value: { needed, total: pools[i]?.counts[kind] },
      valid: `at most ${pools[i]?.free(kind)} pages`,
      next: 'Dispose sequences, or create the cache with a larger capacity or with the rollback of the cache it came from.',
    });
  }
  try {
    let at = 0;
    await eachTensor(plan, async (tensor, unit) => {
      for (const kind of PAGE_KINDS) {
        const pages = (taken[tensor.class] as Record<PageKind, number[]>)[kind];
        if (pages.length === 0) continue;
        const size = pages.length * pageBytes(tensor, kind);
        await run.pause();
        await store.writePages(
          { layer: unit.index, tensor: tensor.tensor, kind, pages },
          payload.subarray(at, at + size),
        );
        at += size;
        run.did(size);
      }
    });
  } catch (error) {
    undo();
    throw error;
  }
  return adopt(header, taken, pools);
}

async function open(
  bytes: Uint8Array,
  pause: Pause,
): Promise<{ header: SnapshotHeader; payload: Uint8Array }> {
  if (!(bytes instanceof Uint8Array))
    return invalidSnapshot(
      'a snapshot must be a Uint8Array',
      typeof bytes,
      'the bytes that snapshot gave',
    );
  if (bytes.length < PREFIX_BYTES + CHECKSUM_BYTES || MAGIC.some((byte, i) => bytes[i] !== byte))
    return invalidSnapshot(
      'not a lowbit-kv snapshot',
      bytes.length,
      'a container that starts with LBKV',
    );
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(4, true);
  if (version !== SNAPSHOT_VERSION)
    invalidSnapshot('unknown snapshot version', version, String(SNAPSHOT_VERSION));
  const headerLength = view.getUint32(8, true);
  const end = bytes.length - CHECKSUM_BYTES;
  if (headerLength > end - PREFIX_BYTES)
    invalidSnapshot(
      'the header is longer than the file',
      headerLength,
      `at most ${end - PREFIX_BYTES}`,
    );
  const digest = await pausedChecksum(bytes.subarray(0, end), pause);
  if (digest.some((byte, i) => byte !== bytes[end + i])) {
    invalidSnapshot(
      'the checksum does not match',
      'a damaged container',
      'the bytes as they were written',
    );
  }
  const header = parseSnapshotHeader(bytes.subarray(PREFIX_BYTES, PREFIX_BYTES + headerLength));
  return { header, payload: bytes.subarray(PREFIX_BYTES + headerLength, end) };
}

function takePages(counts: PageCounts, reservation: Reservation): Record<PageKind, number[]> {
  const take = (kind: PageKind) =>
    Array.from({ length: pageCount(counts, kind) }, () => reservation.take(kind));
  return { packed: take('packed'), window: take('window'), statistics: take('statistics') };
}

/** Turns container page numbers into pool pages, with one reference per entry that uses them. */
function adopt(
  header: SnapshotHeader,
  taken: readonly Record<PageKind, number[]>[],
  pools: readonly PagePool[],
): RestoredSequence[] {
  const seen = new Set<string>();
  const claim = (i: number, kind: PageKind, number: number): number => {
    const page = taken[i]?.[kind][number] as number;
    const key = `${i} ${kind} ${page}`;
    if (seen.has(key)) pools[i]?.retain(kind, page);
    seen.add(key);
    return page;
  };
  const restored = header.sequences.map(({ length, states }) => ({
    length,
    states: states.map(
      (state, i): TensorState => ({
        entries: state.entries.map(
          (entry): Entry => ({ ...entry, page: claim(i, entry.kind, entry.page) }),
        ),
        statistics: state.statistics < 0 ? -1 : claim(i, 'statistics', state.statistics),
      }),
    ),
  }));
  for (const [i, kinds] of taken.entries()) {
    for (const kind of PAGE_KINDS) {
      for (const page of kinds[kind])
        if (!seen.has(`${i} ${kind} ${page}`)) pools[i]?.release(kind, page);
    }
  }
  return restored;
}

function payloadBytes(header: SnapshotHeader, plan: Plan): number {
  const last = snapshotSections(header, plan).at(-1);
  return last === undefined ? 0 : last.offset + last.pages * last.pageBytes;
}

async function eachTensor(
  plan: Plan,
  act: (tensor: TensorPlan, unit: LayerUnit) => Promise<void>,
): Promise<void> {
  for (const [index, unit] of plan.layers.entries()) {
    await act(unit.key, { index, plan: unit });
    await act(unit.value, { index, plan: unit });
  }
}
