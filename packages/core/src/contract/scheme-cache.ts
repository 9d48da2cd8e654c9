/**
 * A scheme in a cache: windows, bytes, cuts, forks, ragged batches against float64 attention, snapshots, refused input.
 */
import type { Cache, LayerInput } from '../cache/cache.js';
import type { Sequence } from '../cache/sequence.js';
import { decodeF16 } from '../float16.js';
import type { LayerGeometry } from '../geometry.js';
import { planBytes } from '../plan/accounting.js';
import { type ModelLayer, modelLayers } from '../plan/model-layers.js';
import { createPlan, type Plan } from '../plan/plan.js';
import { f32Tensor, type HostTensor } from '../tensor.js';
import { inlineScheme } from '../testing/inline-schemes.js';
import { lcgNormal } from '../testing/normal.js';
import { referenceAttention } from '../testing/reference-attention.js';
import { rotateKeys } from '../testing/rotary.js';
import { DECODED_ATTENTION_LOG_SUM_EXP, DECODED_ATTENTION_OUTPUT } from '../testing/tolerances.js';
import {
  type ContractCheck,
  check,
  ensure,
  ensureEqual,
  ensureRefused,
  ensureSame,
  ensureWithin,
} from './check.js';
import { type Contents, contents, ensureSameContents } from './contents.js';
import {
  countsOf,
  grow,
  inputOf,
  normalSource,
  openCache,
  type Rows,
  rowsOf,
  runLength,
} from './scheme-run.js';

/** A cache of the plan, normal rows for a whole run, and the length of a run. */
interface Setting {
  readonly cache: Cache;
  readonly rows: Rows;
  readonly length: number;
}

const NON_FINITE_BITS = [0x7e00, 0x7c00, 0xfc00];

export function cacheChecks(planOf: () => Promise<Plan>): ContractCheck[] {
  const inCache = (name: string, run: (setting: Setting) => Promise<void>) =>
    check(name, async () => {
      const plan = await planOf();
      const cache = await openCache(plan);
      const length = runLength(plan);
      try {
        await run({ cache, rows: rowsOf(plan, length + 60, normalSource()), length });
      } finally {
        cache.dispose();
      }
    });
  return [
    inCache('windows and bytes, in one step', (setting) => windows(setting, 'at-once')),
    inCache('windows and bytes, token by token', (setting) => windows(setting, 'token-by-token')),
    inCache('the split into steps changes nothing that is stored', splits),
    inCache('truncation into the tail, into a block and to zero', truncations),
    inCache('fork and copy on write', forks),
    inCache('ragged batches against float64 attention over the decoded cache', ragged),
    inCache('snapshot and restore', snapshots),
    inCache('non-finite input is refused and nothing is stored', nonFinite),
  ];
}

async function windows(
  { cache, rows, length }: Setting,
  filling: 'at-once' | 'token-by-token',
): Promise<void> {
  const lengths = filling === 'at-once' ? [length, length + 1, length + 33, 1] : [length + 3];
  for (const end of lengths) {
    const sequence = cache.createSequence();
    const stops = filling === 'at-once' ? [end] : Array.from({ length: end }, (_, i) => i + 1);
    for (const stop of stops) {
      await grow(cache, sequence, rows, stop);
      await checkCounts(cache, stop);
      // Bytes change where pages do; looking at every token would take most of the time of the suite.
      if (stop % 7 === 0 || stop >= end - 2) await checkBytes(cache, stop, filling);
    }
    if (end >= length) await checkPacked(cache);
    cache.disposeSequence(sequence);
  }
}

async function checkCounts(cache: Cache, length: number): Promise<void> {
  const { plan } = cache;
  const [sequence] = (await cache.stats()).sequences;
  for (const { key, value } of plan.layers) {
    for (const tensor of [key, value]) {
      const held = sequence?.classes[tensor.class];
      const { sinks, packed, tail } = countsOf(plan, tensor, length);
      ensureEqual(
        { sinks: held?.sinks, packed: held?.packed, tail: held?.tail },
        { sinks, packed, tail },
        `${tensor.tensor} window after ${length} tokens`,
      );
      ensureEqual(sinks + packed + tail, length, 'tokens held');
    }
  }
}

async function checkBytes(
  cache: Cache,
  length: number,
  filling: 'at-once' | 'token-by-token',
): Promise<void> {
  const { bytes } = await cache.stats();
  const planned = planBytes(cache.plan, length, { filling });
  const what = (part: string) => `${part} bytes after ${length} tokens ${filling}`;
  ensureEqual(planned.total, bytes.live, what('all'));
  for (const part of ['codes', 'parameters', 'windows', 'statistics'] as const)
    ensureEqual(planned[part], bytes[part], what(part));
  ensureEqual(
    planned.alignment + planned.outliers.reserved,
    bytes.alignment + bytes.outliers,
    what('outlier and alignment'),
  );
  ensure(bytes.outliers <= planned.outliers.reserved, what('more outlier than reserved'));
  ensureEqual(bytes.live + bytes.free, bytes.allocated, 'bytes in use and free');
}

async function checkPacked(cache: Cache): Promise<void> {
  const [sequence] = (await cache.stats()).sequences;
  for (const [index, rule] of cache.plan.classes.entries())
    ensureEqual((sequence?.classes[index]?.packed ?? 0) > 0, rule.flush > 0, 'whether it packed');
}

async function splits({ cache, rows, length }: Setting): Promise<void> {
  const seen: Contents[] = [];
  for (const chunk of [length, 1, 37]) {
    const sequence = cache.createSequence();
    await grow(cache, sequence, rows, length, chunk);
    seen.push(await contents(cache, sequence));
    cache.disposeSequence(sequence);
  }
  ensureSameContents(seen[1] as Contents, seen[0] as Contents, 'stored token by token');
  ensureSameContents(seen[2] as Contents, seen[0] as Contents, 'stored 37 tokens at a time');
}

async function truncations({ cache, rows, length }: Setting): Promise<void> {
  const whole = cache.createSequence();
  await grow(cache, whole, rows, length);
  const before = await decoded(cache, whole);
  for (const cut of [length - 1, length >> 1, 0]) {
    const sequence = cache.fork(whole);
    cache.truncate(sequence, cut);
    ensureEqual(sequence.length, cut, 'length after the cut');
    for (const [layer, { key, value }] of (await decoded(cache, sequence)).entries()) {
      const full = before[layer] as (typeof before)[number];
      ensureSame(key, full.key.subarray(0, key.length), `keys cut to ${cut}`);
      ensureSame(value, full.value.subarray(0, value.length), `values cut to ${cut}`);
    }
    await attendAll(cache, [sequence], [Math.min(cut, 2)]);
    await grow(cache, sequence, rows, length + 20);
    ensureEqual(sequence.length, length + 20, 'length after growing again');
    if (cut === 0) {
      const fresh = cache.createSequence();
      await grow(cache, fresh, rows, length + 20);
      // The statistics of a sequence outlive a cut, and here they are of the same tokens.
      ensureSameContents(
        await contents(cache, sequence),
        await contents(cache, fresh),
        'cut to zero',
      );
      cache.disposeSequence(fresh);
    }
    await attendAll(cache, [sequence], [1]);
    cache.disposeSequence(sequence);
  }
}

async function forks({ cache, rows, length }: Setting): Promise<void> {
  const parent = cache.createSequence();
  await grow(cache, parent, rows, length);
  const before = await contents(cache, parent);
  const child = cache.fork(parent);
  ensureSameContents(await contents(cache, child), before, 'the fork');
  await grow(cache, child, rowsOf(cache.plan, length + 40, normalSource(1)), length + 40);
  ensureSameContents(await contents(cache, parent), before, 'the parent of a grown fork');
  const grown = await contents(cache, child);
  await grow(cache, parent, rows, length + 33);
  ensureSameContents(await contents(cache, child), grown, 'the fork of a grown parent');
  await attendAll(cache, [parent, child], [1, 2]);
}

async function ragged({ cache, rows, length }: Setting): Promise<void> {
  const { plan } = cache;
  const sequences = [cache.createSequence(), cache.createSequence(), cache.createSequence()];
  await grow(cache, sequences[0] as Sequence, rows, length);
  await grow(cache, sequences[1] as Sequence, rows, 9);
  await attendAll(cache, sequences, [3, 2, 0]);
  const counts = [1, 0, 33];
  const before = await Promise.all(sequences.map((sequence) => decoded(cache, sequence)));
  const parts = sequences.map((sequence, i) =>
    inputOf(plan, rows, sequence.length, sequence.length + (counts[i] as number)),
  );
  const step = cache.step(sequences.map((sequence, i) => ({ sequence, tokens: counts[i] ?? 0 })));
  const results: { query: HostTensor; output: HostTensor; logSumExp: HostTensor | undefined }[] =
    [];
  for (const { layer, geometry } of modelLayers(plan)) {
    const joined = (tensor: 'key' | 'value') =>
      joinRows(parts.map((part) => part[layer]?.[tensor] as HostTensor));
    step.append(layer, joined('key'), joined('value'));
    const query = queries(step.rows, geometry, 50 + layer);
    results.push({ query, ...(await step.attend(layer, query, { logSumExp: true }).read()) });
  }
  await step.commit();
  const after = await Promise.all(sequences.map((sequence) => decoded(cache, sequence)));
  for (const modelLayer of modelLayers(plan)) {
    const { layer } = modelLayer;
    let firstQuery = 0;
    for (const [i, sequence] of sequences.entries()) {
      const seen = (tensor: 'key' | 'value') => {
        if (plan.scheme.packing === 'before-attention') return decodedOf(after, i, layer)[tensor];
        // What a step packs after its attention, it has seen in f16.
        const added = parts[i]?.[layer]?.[tensor] as HostTensor;
        const old = decodedOf(before, i, layer)[tensor];
        const all = new Float32Array(old.length + added.data.length);
        all.set(old);
        all.set(decodeF16(added.data as Uint16Array), old.length);
        return all;
      };
      const tokens = { key: seen('key'), value: seen('value') };
      const count = counts[i] as number;
      const place = { firstQuery, count, length: sequence.length };
      const result = results[layer] as (typeof results)[number];
      compareAttention(modelLayer, result, tokens, place, 'in a step');
      firstQuery += count;
    }
  }
  await attendAll(cache, sequences, [5, 9, 33]);
}

async function snapshots({ cache, rows, length }: Setting): Promise<void> {
  const sequence = cache.createSequence();
  await grow(cache, sequence, rows, length);
  const bytes = await cache.snapshot([sequence]);
  const other = await openCache(cache.plan);
  try {
    const [restored] = (await other.restore(bytes)) as [Sequence];
    ensureSameContents(
      await contents(other, restored),
      await contents(cache, sequence),
      'restored',
    );
    ensureSame(await other.snapshot([restored]), bytes, 'its own snapshot');
    await grow(other, restored, rows, length + 40);
    await grow(cache, sequence, rows, length + 40);
    ensureSameContents(
      await contents(other, restored),
      await contents(cache, sequence),
      'grown on',
    );
  } finally {
    other.dispose();
  }
  const layers = modelLayers(cache.plan);
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = (layers[0] as ModelLayer).geometry;
  const foreign = createPlan(inlineScheme({ key: { bits: 16 }, value: { bits: 16 }, sinks: 1 }), {
    layers: layers.length + 1,
    queryHeads,
    kvHeads,
    keyHeadDim,
    valueHeadDim,
  });
  const stranger = await openCache(foreign);
  try {
    const restore = () => stranger.restore(bytes);
    await ensureRefused(restore, ['SNAPSHOT_MISMATCH'], 'restoring under another plan');
  } finally {
    stranger.dispose();
  }
}

async function nonFinite({ cache, rows, length }: Setting): Promise<void> {
  const sequence = cache.createSequence();
  await grow(cache, sequence, rows, length);
  const before = await contents(cache, sequence);
  for (const bits of NON_FINITE_BITS) {
    for (const tensor of ['key', 'value'] as const) {
      const layers = inputOf(cache.plan, rows, length, length + 40);
      const { data } = (layers.at(-1) as LayerInput)[tensor] as HostTensor;
      data[data.length >> 1] = bits;
      const append = () => cache.append([{ sequence, tokens: 40 }], layers);
      await ensureRefused(append, ['NON_FINITE'], `f16 bits ${bits.toString(16)} in a ${tensor}`);
      ensureSameContents(
        await contents(cache, sequence),
        before,
        'the sequence after a refused step',
      );
    }
  }
}

interface Decoded {
  readonly key: Float32Array;
  readonly value: Float32Array;
}

function decodedOf(all: readonly (readonly Decoded[])[], i: number, layer: number): Decoded {
  return (all[i] as readonly Decoded[])[layer] as Decoded;
}

async function decoded(cache: Cache, sequence: Sequence): Promise<Decoded[]> {
  const result: Decoded[] = [];
  for (const { layer } of modelLayers(cache.plan)) {
    const { key, value } = await cache.materialize(sequence, layer);
    result.push({ key: key.data as Float32Array, value: value.data as Float32Array });
  }
  return result;
}

/** Committed attention of every layer against float64 attention over the decoded tokens. */
async function attendAll(
  cache: Cache,
  sequences: readonly Sequence[],
  counts: readonly number[],
): Promise<void> {
  const total = counts.reduce((sum, count) => sum + count, 0);
  for (const modelLayer of modelLayers(cache.plan)) {
    const { layer, geometry } = modelLayer;
    const query = queries(total, geometry, 70);
    const options = { queries: counts, logSumExp: true };
    const result = await cache.attend(layer, query, sequences, options).read();
    let firstQuery = 0;
    for (const [i, sequence] of sequences.entries()) {
      const tokens = (await decoded(cache, sequence))[layer] as Decoded;
      const count = counts[i] as number;
      const place = { firstQuery, count, length: sequence.length };
      compareAttention(modelLayer, { query, ...result }, tokens, place, 'committed');
      firstQuery += count;
    }
  }
}

function compareAttention(
  { geometry }: ModelLayer,
  result: { query: HostTensor; output: HostTensor; logSumExp: HostTensor | undefined },
  { key, value }: Decoded,
  place: { readonly firstQuery: number; readonly count: number; readonly length: number },
  what: string,
): void {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, softCap, rotary } = geometry;
  const { firstQuery, count, length } = place;
  if (count === 0) return;
  const part = (tensor: HostTensor, width: number) =>
    tensor.data.subarray(firstQuery * width, (firstQuery + count) * width);
  const shape = { tokens: length, kvHeads, keyDim: keyHeadDim };
  const oracle = referenceAttention({
    keys: rotary === null ? key : rotateKeys(key, shape, rotary),
    values: value,
    queries: part(result.query, queryHeads * keyHeadDim),
    tokens: length,
    queryTokens: count,
    queryHeads,
    kvHeads,
    keyDim: keyHeadDim,
    valueDim: valueHeadDim,
    scale,
    ...(softCap === null ? {} : { logitSoftCap: softCap }),
  });
  const output = part(result.output, queryHeads * valueHeadDim);
  ensureWithin(output, oracle.output, DECODED_ATTENTION_OUTPUT, `${what}: output`);
  const logSumExp = part(result.logSumExp as HostTensor, queryHeads);
  ensureWithin(logSumExp, oracle.logSumExp, DECODED_ATTENTION_LOG_SUM_EXP, `${what}: log-sum-exp`);
}

function queries(
  count: number,
  { queryHeads, keyHeadDim }: LayerGeometry,
  seed: number,
): HostTensor {
  const shape = [count, queryHeads, keyHeadDim];
  return f32Tensor(lcgNormal({ seed, shape, dtype: 'f32' }), shape);
}

/** The rows of f16 tensors one after another. */
function joinRows(tensors: readonly HostTensor[]): HostTensor {
  const [, heads, dim] = (tensors[0] as HostTensor).shape as [number, number, number];
  const data = new Uint16Array(tensors.reduce((sum, tensor) => sum + tensor.data.length, 0));
  let at = 0;
  for (const tensor of tensors) {
    data.set(tensor.data, at);
    at += tensor.data.length;
  }
  return { type: 'f16', shape: [data.length / (heads * dim), heads, dim], data };
}
