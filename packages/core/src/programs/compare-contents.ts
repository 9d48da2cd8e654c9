/**
 * What a cache holds against the models: visible tokens, exported blocks, counts and bytes.
 */
import type { Cache } from '../cache/cache.js';
import { pageBytes } from '../cache/read-pages.js';
import type { Sequence } from '../cache/sequence.js';
import type { CacheStats } from '../cache/stats.js';
import { ensure, ensureEqual, ensureSame } from '../contract/check.js';
import type { LayerGeometry } from '../geometry.js';
import type { ModelLayer } from '../plan/model-layers.js';
import type { Plan } from '../plan/plan.js';
import type { Expected, TensorName } from './expected.js';
import type { Pair, Tally } from './pair.js';
import { HEADS, KEY_DIM, type Setup, VALUE_DIM } from './setups.js';

const TENSORS = ['key', 'value'] as const;

export async function compareSequence(
  cache: Cache,
  expected: Expected,
  pair: Pair,
  rollback: number,
  tally: Tally,
): Promise<void> {
  ensureEqual(pair.sequence.length, pair.model.length, 'length');
  await Promise.all(
    expected.layers.map(async (layer) => {
      await compareTokens(cache, expected, layer, pair, rollback);
      // Blocks that a sliding window drops are not modelled: what is left of the tokens is.
      if (layer.geometry.slidingWindow === null)
        for (const tensor of TENSORS) await compareBlocks(cache, layer, pair, tensor, tally);
      if (layer.units.length > 1) tally.add('layers of several units compared');
    }),
  );
}

async function compareTokens(
  cache: Cache,
  expected: Expected,
  { layer, geometry }: ModelLayer,
  { sequence, model, longest }: Pair,
  rollback: number,
): Promise<void> {
  const stored = await cache.materialize(sequence, layer);
  for (const tensor of TENSORS) {
    const positions = stored[`${tensor}Positions`];
    const what = `${tensor}s of layer ${layer}`;
    if (geometry.slidingWindow === null)
      ensureSame(positions, [...Array(model.length).keys()], `positions of ${what}`);
    else ensureHeld(positions, geometry.slidingWindow, longest - rollback, model.length, what);
    const width = HEADS * (tensor === 'key' ? KEY_DIM : VALUE_DIM);
    const values = expected.values(model, layer, tensor);
    for (const [i, position] of positions.entries()) {
      const row = stored[tensor].data.subarray(i * width, (i + 1) * width);
      const wanted = values.subarray(position * width, (position + 1) * width);
      ensureSame(row, wanted, `${what} at ${position}`);
    }
  }
}

async function compareBlocks(
  cache: Cache,
  { layer, units }: ModelLayer,
  { sequence, model }: Pair,
  tensor: TensorName,
  tally: Tally,
): Promise<void> {
  const blocks = await cache.exportBlocks(sequence, layer, tensor);
  const wanted = units.flatMap(({ index, plan }) =>
    model.blocks(plan[tensor], index).map((block) => ({ ...block, heads: plan.heads })),
  );
  const shapes = (list: typeof wanted) =>
    list.map(({ heads, position, validTokens }) => ({ heads, position, validTokens }));
  ensureEqual(shapes(blocks), shapes(wanted), `${tensor} blocks of layer ${layer}`);
  for (const [i, { bytes }] of blocks.entries())
    ensureSame(bytes, wanted[i]?.bytes ?? [], `${tensor} block ${i} of layer ${layer}`);
  tally.add('blocks compared', blocks.length);
}

/** Sinks, and whatever a query from position `oldestEnd` on sees, are never evicted. */
function ensureHeld(
  positions: readonly number[],
  window: NonNullable<LayerGeometry['slidingWindow']>,
  oldestEnd: number,
  length: number,
  what: string,
): void {
  const held = new Set(positions);
  for (let p = 0; p < length; p++) {
    if (p < window.sinks || p >= oldestEnd - window.size)
      ensure(held.has(p), `${what}: position ${p} of ${length} was evicted`);
  }
}

/** `unshared`: no pages are shared, so that the models know how many bytes there are of each part. */
export async function compareBytes(
  cache: Cache,
  { plan }: Setup,
  pairs: readonly Pair[],
  unshared: boolean,
): Promise<void> {
  const { bytes, sequences } = await cache.stats();
  const { live, free, allocated, alignment, ...parts } = bytes;
  ensureEqual(live + free, allocated, 'live and free bytes');
  ensure(alignment >= 0, `alignment of ${alignment} bytes`);
  const sum = Object.values(parts).reduce((total, part) => total + part, 0);
  ensureEqual(sum + alignment, live, 'the parts of the live bytes');
  const alive = pairs.map(({ sequence }) => sequence);
  ensureEqual(
    live,
    reachableBytes(plan, alive),
    'live bytes against the pages that sequences hold',
  );
  ensureEqual(
    sequences.map(({ id, length }) => [id, length]).sort(byFirst),
    pairs.map(({ sequence, model }) => [sequence.id, model.length]).sort(byFirst),
    'sequences of stats()',
  );
  if (plan.layers.some(({ geometry }) => geometry.slidingWindow !== null)) return;
  compareCounts(sequences, pairs);
  if (!unshared) return;
  ensureEqual(bytes.windows, windowBytes(plan, pairs), 'bytes of the windows');
  ensureEqual(bytes.statistics, statisticsBytes(plan, pairs), 'bytes of the statistics');
}

function byFirst(a: readonly number[], b: readonly number[]): number {
  return (a[0] as number) - (b[0] as number);
}

function compareCounts(sequences: CacheStats['sequences'], pairs: readonly Pair[]): void {
  for (const { sequence, model } of pairs) {
    const stats = sequences.find(({ id }) => id === sequence.id);
    const counts = (list: readonly { sinks: number; packed: number; tail: number }[] = []) =>
      list.map(({ sinks, packed, tail }) => ({ sinks, packed, tail }));
    ensureEqual(counts(stats?.classes), counts(model.classes), `counts of sequence ${sequence.id}`);
  }
}

/** Of all pages that a sequence can reach, each once: a page that nobody holds, or that was given back too early, shows. */
function reachableBytes(plan: Plan, sequences: readonly Sequence[]): number {
  const reached = plan.classes.map(() => new Set<string>());
  for (const { states } of sequences) {
    for (const [index, { entries, statistics }] of states.entries()) {
      for (const { kind, page } of entries) reached[index]?.add(`${kind} ${page}`);
      if (statistics >= 0) reached[index]?.add(`statistics ${statistics}`);
    }
  }
  let bytes = 0;
  for (const { key, value } of plan.layers) {
    for (const tensor of [key, value]) {
      for (const page of reached[tensor.class] ?? [])
        bytes += pageBytes(tensor, page.split(' ')[0] as 'packed');
    }
  }
  return bytes;
}

function windowBytes(plan: Plan, pairs: readonly Pair[]): number {
  return eachTensor(plan, pairs, ({ sinks, tail }, { heads, headDim }) => {
    return (sinks + tail) * heads * headDim * 2;
  });
}

function statisticsBytes(plan: Plan, pairs: readonly Pair[]): number {
  return eachTensor(plan, pairs, ({ statisticsTaken }, { statisticsPageBytes }) =>
    statisticsTaken ? statisticsPageBytes : 0,
  );
}

type ClassOfModel = Pair['model']['classes'][number];

function eachTensor(
  plan: Plan,
  pairs: readonly Pair[],
  bytesOf: (model: ClassOfModel, tensor: Plan['layers'][number]['key']) => number,
): number {
  let bytes = 0;
  for (const { key, value } of plan.layers) {
    for (const tensor of [key, value]) {
      for (const { model } of pairs)
        bytes += bytesOf(model.classes[tensor.class] as ClassOfModel, tensor);
    }
  }
  return bytes;
}
