// Case cache-residual-accounting: when groups flush, and that what is reported is what is held.
import { describe, expect, it } from 'vitest';
import {
  type AppendJob,
  type Backend,
  createCache,
  createPlan,
  decodeF16,
  f16Tensor,
  type Geometry,
  referenceBackend,
  type Scheme,
  WINDOW_PAGE_TOKENS,
} from '../../src/index.js';
import { lcgNormal, type NormalRecipe } from '../../src/testing/index.js';
import { scheme } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

interface FlushRow {
  R: number;
  G: number;
  n: number;
  flushWhenFull: { quantized: number; residual: number };
}
interface WindowRow {
  window: number;
  G: number;
  n: number;
  quantized: number;
  full: number;
}
const { input, expected } = loadCase<
  { data: NormalRecipe<'f16'> },
  { flushWhenFull: FlushRow[]; slidingWindow: { table: WindowRow[] } }
>('cache-residual-accounting');
const [, , TOKENS, DIM] = input.data.shape as [number, number, number, number];
const data = lcgNormal(input.data);
const exact = decodeF16(data);
const geometry: Geometry = {
  layers: 1,
  queryHeads: 1,
  kvHeads: 1,
  keyHeadDim: DIM,
  valueHeadDim: DIM,
};

interface Setting {
  readonly G: number;
  readonly recent: number;
  readonly flush: number;
  /** Most f16 tokens between steps. */
  readonly most: number;
  /** Length to packed tokens. */
  readonly counts: ReadonlyMap<number, number>;
}

function settings<Row extends { n: number }>(
  rows: readonly Row[],
  of: (row: Row) => Omit<Setting, 'counts'> & { readonly packed: number },
): Setting[] {
  const found = new Map<string, Setting & { counts: Map<number, number> }>();
  for (const row of rows) {
    const { packed, ...rest } = of(row);
    const key = JSON.stringify(rest);
    const setting = found.get(key) ?? { ...rest, counts: new Map<number, number>() };
    setting.counts.set(row.n, packed);
    found.set(key, setting);
  }
  return [...found.values()];
}

const whenFull = settings(expected.flushWhenFull, (row) => {
  expect(row.flushWhenFull.quantized + row.flushWhenFull.residual).toBe(row.n);
  return {
    G: row.G,
    recent: 0,
    flush: row.R,
    most: row.R - 1,
    packed: row.flushWhenFull.quantized,
  };
});
const sliding = settings(expected.slidingWindow.table, (row) => {
  expect(row.quantized + row.full).toBe(row.n);
  const { G, window } = row;
  return { G, recent: window, flush: G, most: window + G - 1, packed: row.quantized };
});

/** The reference backend, and every pack job it was given. */
function recording(): { backend: Backend; packed: Record<'key' | 'value', number[]> } {
  const packed = { key: [] as number[], value: [] as number[] };
  const reference = referenceBackend();
  const backend: Backend = {
    ...reference,
    createStore: async (plan, options) => {
      const store = await reference.createStore(plan, options);
      const append = store.append.bind(store);
      store.append = (job: AppendJob) => {
        for (const tensor of ['key', 'value'] as const)
          packed[tensor].push(...job.work[tensor].packs.map((pack) => pack.count));
        append(job);
      };
      return store;
    },
  };
  return { backend, packed };
}

function schemeOf({ G, recent, flush }: Setting): Scheme {
  return scheme({
    key: { bits: 2, along: 'tokens', size: G, recent, flush },
    value: { bits: 2, along: 'channels', size: 32, recent, flush: 1 },
  });
}

async function run(setting: Setting, first: number): Promise<void> {
  const { backend, packed } = recording();
  const cache = await createCache(createPlan(schemeOf(setting), geometry), backend, {
    capacity: { tokens: TOKENS },
  });
  const sequence = cache.createSequence();
  let checked = 0;
  for (let n = first; n <= TOKENS; n++) {
    const from = sequence.length;
    const rows = f16Tensor(data.slice(from * DIM, n * DIM), [n - from, 1, DIM]);
    await cache.append([{ sequence, tokens: n - from }], [{ key: rows, value: rows }]);
    const { sequences, bytes } = await cache.stats();
    const [key, value] = sequences.flatMap((held) => held.classes);
    if (key === undefined || value === undefined) throw new Error('two classes expected');
    expect(key.packed + key.tail).toBe(n);
    expect(value.packed + value.tail).toBe(n);
    expect(key.packed % setting.G).toBe(0);
    expect(key.tail).toBeLessThanOrEqual(setting.most);
    expect(value.tail).toBe(Math.min(n, setting.recent));
    expect(bytes.windows).toBe((key.tail + value.tail) * DIM * 2);
    expect(bytes.codes).toBe(((key.packed + value.packed) * DIM * 2) / 8);
    expect(bytes.parameters).toBe(
      (key.packed / setting.G) * DIM * 4 + value.packed * (DIM / 32) * 4,
    );
    expect(bytes.live).toBe(bytes.codes + bytes.parameters + bytes.windows + bytes.alignment);
    expect(bytes.alignment).toBeLessThan(
      4 * Math.max(WINDOW_PAGE_TOKENS * DIM * 2, cache.plan.layers[0]?.key.layout?.pageBytes ?? 0),
    );
    const count = setting.counts.get(n);
    if (count === undefined) continue;
    expect(key.packed, `n = ${n}`).toBe(count);
    checked++;
  }
  const expectedRows = [...setting.counts.keys()].filter((n) => n >= first && n <= TOKENS);
  expect(checked).toBe(expectedRows.length);
  expect(packed.key.every((count) => count > 0 && count % setting.G === 0)).toBe(true);
  expect(packed.key.length).toBeGreaterThan(0);

  const { key } = await cache.materialize(sequence, 0);
  const changed = key.data.findIndex((value, i) => value !== exact[i]);
  expect(changed).toBeGreaterThanOrEqual(0);
  const blocks = await cache.exportBlocks(sequence, 0, 'key');
  expect(changed / DIM).toBeLessThan(blocks.reduce((sum, block) => sum + block.validTokens, 0));
}

describe.each(whenFull)('keys flush when $flush are full, groups of $G', (setting) => {
  it('token by token', () => run(setting, 1));
  it('a prompt of 32, then token by token', () => run(setting, 32));
});

describe.each(sliding)('window of $recent, groups of $G leave it', (setting) => {
  it('token by token', () => run(setting, 1));
  it('a prompt of 32, then token by token', () => run(setting, 32));
});
