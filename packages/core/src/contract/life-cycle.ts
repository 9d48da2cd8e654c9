/**
 * What a cache does to sequences around attention, checked on both sides of a twin: cuts, forks, reorderings, snapshots,
 * abandoned steps and refused input.
 */
import type { Cache } from '../cache/cache.js';
import { type ModelLayer, modelLayers } from '../plan/model-layers.js';
import { f16Tensor, type HostTensor } from '../tensor.js';
import { lcgNormal } from '../testing/normal.js';
import { ensure, ensureEqual, ensureRefused } from './check.js';
import { type Contents, contents, ensureSameContents } from './contents.js';
import type { Pair, Twin } from './twin.js';

export interface TwinCheck {
  readonly name: string;
  readonly run: (twin: Twin) => Promise<void>;
}

const NON_FINITE = { NaN: 0x7e00, Infinity: 0x7c00, '-Infinity': 0xfc00 } as const;

export const lifeCycle: readonly TwinCheck[] = [
  { name: 'truncation into the tail, into a block and to zero', run: truncations },
  { name: 'fork and copy on write', run: forks },
  { name: 'reorder', run: reorders },
  { name: 'snapshot of one backend restored on the other', run: snapshots },
  { name: 'non-finite input is refused and nothing is stored', run: nonFinite },
  { name: 'an abandoned step leaves nothing', run: abandoned },
  { name: 'many queries', run: manyQueries },
];

/** Attention of whole prompts is what the program of every plan checks: here the steps of one token attend. */
async function grow(twin: Twin, pair: Pair, tokens: number): Promise<void> {
  if (tokens > 1) await twin.grow(pair, tokens);
  else await twin.step([{ pair, tokens }]);
}

async function grown(twin: Twin, steps: readonly number[]): Promise<Pair> {
  const pair = twin.createPair();
  for (const tokens of steps) await grow(twin, pair, tokens);
  return pair;
}

async function truncations(twin: Twin): Promise<void> {
  const pair = await grown(twin, [150]);
  for (const [length, regrown] of [
    [149, 1],
    [90, 25],
    [41, 50],
    [3, 60],
    [0, 70],
  ] as const) {
    twin.truncate(pair, length);
    ensureEqual(pair.subject.length, length, 'length after the cut');
    await twin.attend([pair], [Math.min(2, Math.max(length, 1))]);
    await twin.compareBlocks(pair);
    await grow(twin, pair, regrown);
    await twin.step([{ pair, tokens: 1 }]);
    ensure((await twin.compareBlocks(pair)) > 0, 'no block was packed');
  }
}

async function forks(twin: Twin): Promise<void> {
  const parent = await grown(twin, [109, 1]);
  const before = await contents(twin.subject, parent.subject);
  const child = twin.fork(parent);
  await grow(twin, child, 37);
  await twin.step([{ pair: child, tokens: 1 }]);
  ensureSameContents(
    await contents(twin.subject, parent.subject),
    before,
    'the parent of a grown fork',
  );
  await twin.step([{ pair: parent, tokens: 41 }]);
  await twin.attend([parent, child], [1, 1]);
  for (const pair of [parent, child]) await twin.compareBlocks(pair);
}

async function reorders(twin: Twin): Promise<void> {
  const pairs = [await grown(twin, [90]), await grown(twin, [33, 1]), await grown(twin, [5])];
  const [first, second] = await Promise.all(
    pairs.map(({ subject }) => contents(twin.subject, subject)),
  );
  twin.reorder(pairs, [1, 0, 0]);
  const after = await Promise.all(pairs.map(({ subject }) => contents(twin.subject, subject)));
  for (const [i, source] of [second, first, first].entries())
    ensureSameContents(
      after[i] as Contents,
      source as Contents,
      `sequence ${i} after the reordering`,
    );
  await twin.step(pairs.map((pair, i) => ({ pair, tokens: 20 + i })));
  for (const pair of pairs) await twin.compareBlocks(pair);
  await twin.attend(pairs, [1, 1, 1]);
}

async function snapshots(twin: Twin): Promise<void> {
  const pair = await grown(twin, [107, 1]);
  const crossed = await twin.crossed(pair);
  ensureSameContents(
    await contents(twin.subject, crossed.subject),
    await contents(twin.subject, pair.subject),
    'the restored sequence',
  );
  await twin.attend([crossed], [2]);
  await grow(twin, crossed, 40);
  await twin.step([{ pair: crossed, tokens: 1 }]);
  await twin.compareBlocks(crossed);
}

async function nonFinite(twin: Twin): Promise<void> {
  const pair = await grown(twin, [70]);
  const cache = twin.subject;
  const before = await contents(cache, pair.subject);
  const { live } = (await cache.stats()).bytes;
  for (const [name, bits] of Object.entries(NON_FINITE)) {
    for (const tensor of ['key', 'value'] as const) {
      const layers = modelLayers(cache.plan).map(({ layer }) => input(cache, layer, 40, 900));
      const data = (layers.at(-1)?.[tensor].data ?? new Uint16Array()) as Uint16Array;
      data[data.length >> 1] = bits;
      const append = () => cache.append([{ sequence: pair.subject, tokens: 40 }], layers);
      await ensureRefused(append, ['NON_FINITE'], `${name} in a ${tensor}`);
      ensureSameContents(await contents(cache, pair.subject), before, `the sequence after ${name}`);
      ensureEqual((await cache.stats()).bytes.live, live, `bytes in use after ${name}`);
    }
  }
  await grow(twin, pair, 50);
  await twin.step([{ pair, tokens: 1 }]);
  await twin.compareBlocks(pair);
}

async function abandoned(twin: Twin): Promise<void> {
  const pair = await grown(twin, [70]);
  const before = await contents(twin.subject, pair.subject);
  const step = twin.subject.step([{ sequence: pair.subject, tokens: 40 }]);
  for (const { layer } of modelLayers(twin.plan)) {
    const { key, value } = input(twin.subject, layer, 40, 77);
    step.append(layer, key, value);
  }
  step.abandon();
  ensureSameContents(
    await contents(twin.subject, pair.subject),
    before,
    'the sequence after the step',
  );
  await twin.step([{ pair, tokens: 3 }]);
  twin.truncate(pair, 21);
  await grow(twin, pair, 90);
  await twin.step([{ pair, tokens: 1 }]);
  await twin.compareBlocks(pair);
}

async function manyQueries(twin: Twin): Promise<void> {
  const [long, short] = [await grown(twin, [130]), await grown(twin, [40])];
  await twin.attend([long, short], [97, 13]);
}

function input(
  cache: Cache,
  layer: number,
  tokens: number,
  seed: number,
): { readonly key: HostTensor; readonly value: HostTensor } {
  const { kvHeads, keyHeadDim, valueHeadDim } = (modelLayers(cache.plan)[layer] as ModelLayer)
    .geometry;
  const drawn = (offset: number, dim: number) => {
    const shape = [tokens, kvHeads, dim];
    return f16Tensor(lcgNormal({ seed: seed + offset, shape, dtype: 'f16' }), shape);
  };
  return { key: drawn(0, keyHeadDim), value: drawn(1, valueHeadDim) };
}
