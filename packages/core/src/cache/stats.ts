/**
 * Exact accounting: bytes by part, and what each sequence holds.
 */
import type { BlockStore } from '../backend.js';
import { usedRanges } from '../plan/canonical.js';
import type { LayerUnit } from '../plan/model-layers.js';
import { type PageClass, type Plan, type TensorPlan, WINDOW_PAGE_TOKENS } from '../plan/plan.js';
import type { PagePool } from './page-pool.js';
import { readPages } from './read-pages.js';
import type { Sequence } from './sequence.js';
import { type TensorState, tailStart, tokensHeld } from './tensor-state.js';

/** Bytes; `live` is the sum of the parts down to `alignment`. */
export interface ByteParts {
  readonly codes: number;
  readonly parameters: number;
  readonly outliers: number;
  /** f16 sinks and tails. */
  readonly windows: number;
  readonly statistics: number;
  /** Padding and unused slots of pages in use. */
  readonly alignment: number;
  readonly live: number;
  /** Pages in no use. */
  readonly free: number;
  /** `live + free`: what the store allocated. */
  readonly allocated: number;
}

export interface SequenceStats {
  readonly id: number;
  readonly length: number;
  readonly classes: readonly TensorCounts[];
}

export interface TensorCounts {
  readonly tensor: 'key' | 'value';
  /** Of the model: those with heads that are stored like this. */
  readonly layers: readonly number[];
  readonly sinks: number;
  readonly packed: number;
  readonly tail: number;
  /** Tokens the recent window is short of its promise, after a truncation into packed blocks. */
  readonly recentShortfall: number;
}

export interface CacheStats {
  readonly bytes: ByteParts;
  readonly sequences: readonly SequenceStats[];
}

/** Everything as of the call: all reads are asked for at once, so that what happens meanwhile comes after them. */
export async function collectStats(
  plan: Plan,
  store: BlockStore,
  pools: readonly PagePool[],
  sequences: readonly Sequence[],
): Promise<CacheStats> {
  const sum = { codes: 0, parameters: 0, outliers: 0, windows: 0, statistics: 0 };
  let live = 0;
  const reads: Promise<void>[] = [];
  for (const [index, unit] of plan.layers.entries()) {
    for (const tensor of [unit.key, unit.value]) {
      const pool = pools[tensor.class] as PagePool;
      const states = sequences.map((sequence) => sequence.states[tensor.class] as TensorState);
      live +=
        pool.used('packed') * (tensor.layout?.pageBytes ?? 0) +
        pool.used('window') * tensor.windowPageBytes +
        pool.used('statistics') * tensor.statisticsPageBytes;
      sum.statistics += pool.used('statistics') * tensor.statisticsPageBytes;
      sum.windows += windowBytes(tensor, states);
      reads.push(addPacked(store, { index, plan: unit }, tensor, states, sum));
    }
  }
  const allocated = store.allocatedBytes;
  const counts = sequences.map((sequence) => ({
    id: sequence.id,
    length: sequence.length,
    classes: plan.classes.map((pageClass, i) =>
      countTensor(pageClass, sequence.states[i] as TensorState, sequence.length),
    ),
  }));
  await Promise.all(reads);
  const parts = sum.codes + sum.parameters + sum.outliers + sum.windows + sum.statistics;
  return {
    bytes: { ...sum, alignment: live - parts, live, free: allocated - live, allocated },
    sequences: counts,
  };
}

function countTensor(pageClass: PageClass, state: TensorState, length: number): TensorCounts {
  const first = tailStart(state, pageClass);
  const sum = (entries: readonly { count: number }[]) =>
    entries.reduce((total, entry) => total + entry.count, 0);
  const tail = sum(state.entries.slice(first));
  const packed = sum(state.entries.filter((entry) => entry.kind === 'packed'));
  const sinks = tokensHeld(state) - tail - packed;
  const promised = packed === 0 ? 0 : Math.min(pageClass.recent, Math.max(length - sinks, 0));
  return {
    tensor: pageClass.tensor,
    layers: pageClass.layers,
    sinks,
    packed,
    tail,
    recentShortfall: Math.max(promised - tail, 0),
  };
}

/** Bytes of the distinct f16 slots in use; slots that sequences share count once. */
function windowBytes(tensor: TensorPlan, states: readonly TensorState[]): number {
  const bytesPerToken = tensor.windowPageBytes / WINDOW_PAGE_TOKENS;
  const used = new Map<number, Uint8Array>();
  for (const state of states) {
    for (const { kind, page, slot, count } of state.entries) {
      if (kind !== 'window') continue;
      const slots = used.get(page) ?? new Uint8Array(WINDOW_PAGE_TOKENS);
      used.set(page, slots.fill(1, slot, slot + count));
    }
  }
  let tokens = 0;
  for (const slots of used.values()) for (const one of slots) tokens += one;
  return tokens * bytesPerToken;
}

async function addPacked(
  store: BlockStore,
  unit: LayerUnit,
  tensor: TensorPlan,
  states: readonly TensorState[],
  sum: { codes: number; parameters: number; outliers: number },
): Promise<void> {
  const { layout } = tensor;
  if (layout === null) return;
  const valid = new Map<number, number>();
  for (const state of states) {
    for (const { kind, page, count } of state.entries) {
      if (kind === 'packed') valid.set(page, Math.max(valid.get(page) ?? 0, count));
    }
  }
  // Only outlier counts lie in the data; everything else follows from the layout.
  const pages = [...valid.keys()];
  const size = layout.sparse === null ? 0 : layout.pageBytes;
  const bytes =
    size === 0 ? new Uint8Array(0) : await readPages(store, unit, tensor.tensor, 'packed', pages);
  for (const [i, tokens] of [...valid.values()].entries()) {
    const page = bytes.subarray(i * size, (i + 1) * size);
    for (const { part, first, end } of usedRanges(layout, page, tokens)) sum[part] += end - first;
  }
}
