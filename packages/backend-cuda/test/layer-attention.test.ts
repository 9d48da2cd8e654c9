// Attention of a layer on the fake driver: tables, pointers and parameters as kernels read them.
import type { AttendSequence } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { AttentionScratch } from '../src/attend/attention-scratch.js';
import { StepTables } from '../src/attend/step-tables.js';
import { Graph } from '../src/driver/graph.js';
import { RESULT } from '../src/driver/results.js';
import { UploadRing } from '../src/driver/upload-ring.js';
import {
  GROUP,
  HEAD_DIM,
  INSTANCE,
  KV_HEADS,
  OWN_ROWS,
  planOf,
  type SetupOptions,
  setUp,
} from './support/attend/attention-setup.js';
import { type FakeLaunch, fakeAttention } from './support/attend/fake-attention.js';
import { drawsOf, randomBatch, withQueries } from './support/attend/random-views.js';
import { asFloats, asWords, errorOf, type Opened, withFake } from './support/open-fake.js';

const queriesOf = (sequences: readonly AttendSequence[]) =>
  sequences.reduce((sum, { queries }) => sum + queries, 0);

type Setup = ReturnType<typeof setUp>;

function compare({ buffers, expected, scratch }: Setup, sequences: readonly AttendSequence[]) {
  const wanted = expected(sequences);
  const rows = queriesOf(sequences) * KV_HEADS * GROUP;
  const output = asFloats(buffers.output.download());
  let worst = 0;
  for (let i = 0; i < rows * HEAD_DIM; i++)
    worst = Math.max(worst, Math.abs(output[i]! - wanted.output[i]!));
  expect(worst).toBeLessThan(1e-5);
  const sums = asFloats(buffers.logSumExp.download());
  for (let i = 0; i < rows; i++) {
    const sum = wanted.logSumExp[i]!;
    if (Number.isFinite(sum)) expect(Math.abs(sums[i]! - sum)).toBeLessThan(1e-4);
    else expect(sums[i]).toBe(sum);
  }
  expect(asWords(scratch.arrivals.all.download()).every((count) => count === 0)).toBe(true);
}

/** Poison: what is not written is seen. */
function poison({ buffers }: Setup) {
  for (const range of [buffers.output, buffers.logSumExp])
    range.upload(new Uint8Array(range.bytes).fill(0x7e));
}

const WINDOWS: Partial<SetupOptions>[] = [
  {},
  { softCap: 3 },
  { slidingWindow: { size: 90, sinks: 3 } },
];

it.each(Array.from({ length: 24 }, (_, seed) => seed))('random batch %i', async (seed) => {
  const launches: FakeLaunch[] = [];
  await withFake({ kernels: [fakeAttention(INSTANCE, launches)] }, (opened) => {
    const draw = drawsOf(seed);
    const sequences = randomBatch(draw, 5, 600);
    const queries = queriesOf(sequences);
    const capacity = Math.max(1, queries) + draw(20);
    const setup = setUp(opened, draw, { capacity, queries, ...WINDOWS[seed % 3] });
    poison(setup);
    setup.tables.update(opened.stream, sequences);
    setup.attention.run(opened.stream, setup.buffers);
    opened.stream.synchronize();
    compare(setup, sequences);
    if (queries === 0) expect(launches).toEqual([]);
    else {
      const { list } = setup.tables;
      expect(launches).toEqual([
        {
          grid: [list.items.length, KV_HEADS, 1],
          block: [32 * INSTANCE.warps, 1, 1],
          // Keys and values of a page, 10 KiB each, and two barriers for every warp.
          sharedBytes: 8 * (2 * 10_240 + 16),
          items: list.items.length,
        },
      ]);
    }
    setup.ring.dispose();
  });
});

describe('several query tokens', () => {
  /** Kernels, and what each of them was launched with. */
  function kernelsWithLaunches() {
    const launches = [INSTANCE, ...OWN_ROWS].map((): FakeLaunch[] => []);
    const kernels = [INSTANCE, ...OWN_ROWS].map((one, i) => fakeAttention(one, launches[i]));
    return { kernels, launches };
  }

  it.each(Array.from({ length: 30 }, (_, seed) => seed))('random batch %i', async (seed) => {
    const { kernels, launches } = kernelsWithLaunches();
    await withFake({ kernels }, (opened) => {
      const draw = drawsOf(1000 + seed);
      const most = [1, 2, 8, 9, 40][seed % 5] as number;
      const sequences = withQueries(draw, randomBatch(draw, 4, 500), most);
      const queries = queriesOf(sequences);
      const capacity = Math.max(1, queries) + draw(20);
      const options = { capacity, queries, withRows: true, ...WINDOWS[Math.floor(seed / 5) % 3] };
      const setup = setUp(opened, draw, options);
      poison(setup);
      setup.tables.update(opened.stream, sequences);
      setup.attention.run(opened.stream, setup.buffers);
      opened.stream.synchronize();
      compare(setup, sequences);
      // Blocks of 16 rows have room for eight query tokens of two heads.
      const largest = Math.max(0, ...sequences.map((sequence) => sequence.queries));
      const isAlone = largest <= 1 || options.slidingWindow !== undefined;
      const wanted = isAlone ? 0 : largest <= 8 ? 1 : 2;
      expect(launches.map(({ length }) => length)).toEqual(
        launches.map((_, i) => (i === wanted && queries > 0 ? 1 : 0)),
      );
      setup.ring.dispose();
    });
  });

  it('takes shared memory for pages, rows and their units', async () => {
    const { kernels, launches } = kernelsWithLaunches();
    await withFake({ kernels }, (opened) => {
      for (const queries of [2, 9]) {
        const setup = setUp(opened, drawsOf(7), { capacity: 20, queries, withRows: true });
        const [sequence] = decodeBatch([300]);
        setup.tables.update(opened.stream, [{ ...sequence!, queries }]);
        setup.attention.run(opened.stream, setup.buffers);
        opened.stream.synchronize();
        setup.ring.dispose();
      }
      const page = 2 * 10_240 + 16;
      const [, few, many] = launches.map(([launch]) => launch);
      // Twelve do not fit.
      expect(few).toMatchObject({ block: [32 * 11, 1, 1], sharedBytes: 11 * page + 16 * 260 });
      expect(many).toMatchObject({ block: [32 * 8, 1, 1], sharedBytes: 8 * page + 32 * 260 });
    });
  });

  it('stays with the kernel of a graph, whatever later steps have', async () => {
    const { kernels, launches } = kernelsWithLaunches();
    await withFake({ kernels }, (opened) => {
      const { stream } = opened;
      const room = { capacity: 20, queries: 12, pageEntries: 64, restEntries: 1024 };
      const setup = setUp(opened, drawsOf(8), { ...room, withRows: true });
      const { tables, attention, buffers, ring } = setup;
      tables.freeze();
      let graph: Graph | undefined;
      for (const queries of [3, 1, 12, 8]) {
        const [sequence] = decodeBatch([700 + queries]);
        const sequences = [{ ...sequence!, queries }];
        poison(setup);
        tables.update(stream, sequences);
        graph ??= Graph.capture(stream, () => attention.run(stream, buffers, 'capacity'));
        graph.run(stream);
        stream.synchronize();
        compare(setup, sequences);
      }
      expect(launches.map(({ length }) => length)).toEqual([0, 4, 0]);
      graph?.dispose();
      ring.dispose();
    });
  });
});

const FAKE = { kernels: [fakeAttention(INSTANCE)] };
const span = (
  source: 'packed' | 'window' | 'input',
  page: number,
  position: number,
  count: number,
) => ({
  source,
  page,
  slot: 0,
  count,
  position,
});

/** Sequences of whole pages and a window, one query each. */
function decodeBatch(lengths: readonly number[]): AttendSequence[] {
  return lengths.map((length, firstQuery) => {
    const spans = [];
    for (let position = 0; position < length; position += 128) {
      const count = Math.min(128, length - position);
      const page = (position / 128 + 7 * firstQuery) % 40;
      if (count === 128) spans.push(span('packed', page, position, 128));
      else
        for (let i = 0; i < count; i += 32)
          spans.push(span('window', page + i / 32, position + i, Math.min(32, count - i)));
    }
    const view = { spans, statistics: -1 };
    return { firstQuery, queries: 1, length, key: view, value: view };
  });
}

it('a launch of a layer is one driver call, and layers share what was uploaded', async () => {
  await withFake(FAKE, (opened) => {
    const { fake, stream } = opened;
    const sequences = decodeBatch([700, 3]);
    const setup = setUp(opened, drawsOf(1), { capacity: 20, queries: 2 });
    setup.tables.update(stream, sequences);
    setup.attention.run(stream, setup.buffers);
    const uploads = fake.count('cuMemcpyHtoDAsync_v2');
    expect(uploads).toBe(3);
    fake.takeCalls();
    for (let layer = 0; layer < 3; layer++) {
      setup.tables.update(
        stream,
        sequences.map((sequence) => ({ ...sequence })),
      );
      setup.attention.run(stream, setup.buffers);
    }
    expect(fake.takeCalls().filter((call) => !call.startsWith('cuCtx'))).toEqual([
      'cuLaunchKernelEx',
      'cuLaunchKernelEx',
      'cuLaunchKernelEx',
    ]);
    stream.synchronize();
    compare(setup, sequences);
    setup.ring.dispose();
  });
});

it('a graph is captured once and replayed while sequences grow and pages move', async () => {
  const launches: FakeLaunch[] = [];
  await withFake({ kernels: [fakeAttention(INSTANCE, launches)] }, (opened) => {
    const { fake, stream } = opened;
    const room = { capacity: 20, queries: 3, pageEntries: 64, restEntries: 1024 };
    const setup = setUp(opened, drawsOf(2), room);
    const { tables, attention, buffers, ring } = setup;
    let sequences = decodeBatch([500, 90, 1]);
    tables.update(stream, sequences);
    tables.freeze();
    const graph = Graph.capture(stream, () => attention.run(stream, buffers, 'capacity'));
    for (const grown of [0, 1, 12, 39, 140, 600]) {
      sequences = decodeBatch([500 + grown, 90 + grown, 1 + grown]);
      poison(setup);
      tables.update(stream, sequences);
      graph.run(stream);
      stream.synchronize();
      compare(setup, sequences);
    }
    expect(fake.count('cuLaunchKernelEx')).toBe(1);
    expect(launches.map(({ grid }) => grid[0])).toEqual(Array(6).fill(20));
    expect(new Set(launches.map(({ items }) => items)).size).toBeGreaterThan(1);
    graph.dispose();
    ring.dispose();
  });
});

async function frozen(opened: Opened, body: (setup: Setup) => Promise<void>) {
  const setup = setUp(opened, drawsOf(3), {
    capacity: 4,
    queries: 1,
    pageEntries: 4,
    restEntries: 8,
  });
  setup.tables.update(opened.stream, decodeBatch([400]).map(cutRest));
  setup.tables.freeze();
  await body(setup);
  opened.stream.synchronize();
  setup.ring.dispose();
}

/** Without the tokens after the last whole page. */
function cutRest(sequence: AttendSequence): AttendSequence {
  const length = sequence.length - (sequence.length % 128);
  const spans = sequence.key.spans.filter(({ source }) => source === 'packed');
  const view = { spans, statistics: -1 };
  return { ...sequence, length, key: view, value: view };
}

it('frozen tables refuse what they have no room for, and take the rest', async () => {
  await withFake(FAKE, async (opened) => {
    await frozen(opened, async ({ tables }) => {
      const before = tables.pointers;
      tables.update(opened.stream, decodeBatch([512]));
      expect(tables.pointers).toEqual(before);
      const error = await errorOf(() => tables.update(opened.stream, decodeBatch([640])));
      expect(error).toMatchObject({
        code: 'DEVICE_RESOURCE_STATE',
        value: 80,
        valid: 'at most 64 bytes',
      });
      expect((await errorOf(() => tables.update(opened.stream, decodeBatch([137])))).value).toBe(
        144,
      );
    });
  });
});

it('tables that are not frozen grow', async () => {
  await withFake(FAKE, (opened) => {
    const { stream } = opened;
    const setup = setUp(opened, drawsOf(4), {
      capacity: 4,
      queries: 1,
      pageEntries: 1,
      restEntries: 1,
    });
    const { bytes } = setup.tables;
    for (const length of [700, 1300]) {
      const sequences = decodeBatch([length]);
      setup.tables.update(stream, sequences);
      setup.attention.run(stream, setup.buffers);
      stream.synchronize();
      compare(setup, sequences);
    }
    expect(setup.tables.bytes).toBeGreaterThan(bytes);
    setup.ring.dispose();
  });
});

it('tables that change inside a capture are refused', async () => {
  await withFake(FAKE, async (opened) => {
    await frozen(opened, async ({ tables }) => {
      const capture = () =>
        Graph.capture(opened.stream, () => tables.update(opened.stream, decodeBatch([256])));
      expect(await errorOf(capture)).toMatchObject({
        code: 'DEVICE_RESOURCE_STATE',
        next: 'Update the tables outside of the capture.',
      });
    });
  });
});

it('refuses buffers that are too small, and a missing input', async () => {
  await withFake(FAKE, async (opened) => {
    const { fake, stream } = opened;
    const setup = setUp(opened, drawsOf(5), { capacity: 4, queries: 1 });
    const { attention, buffers, tables } = setup;
    tables.update(stream, decodeBatch([130]));
    for (const name of ['queries', 'output', 'logSumExp'] as const) {
      const small = { ...buffers, [name]: buffers[name].range(0, buffers[name].bytes - 2) };
      expect((await errorOf(() => attention.run(stream, small))).code).toBe('OPTION_INVALID');
    }
    const view = { spans: [span('input', -1, 0, 2)], statistics: -1 };
    tables.update(stream, [{ firstQuery: 0, queries: 1, length: 2, key: view, value: view }]);
    const { input, ...rest } = buffers;
    const error = await errorOf(() => attention.run(stream, rest));
    expect(error.next).toBe('Pass the tensors given to `append`.');
    expect(fake.count('cuLaunchKernelEx')).toBe(0);
    attention.run(stream, { ...rest, input });
    stream.synchronize();
    setup.ring.dispose();
  });
});

it.each(['tables', 'scratch'])('%s leave nothing when memory runs out', async (what) => {
  await withFake(FAKE, async (opened) => {
    const { context, fake, stream } = opened;
    const ring = new UploadRing(context);
    const before = context.resourceCount;
    const options = { slots: 4, capacity: 4, slidingWindow: null };
    const geometry = planOf({}).layers[0]!.geometry;
    const make = () =>
      what === 'tables'
        ? new StepTables(context, ring, options)
        : AttentionScratch.allocate(stream, 4, [geometry]);
    fake.failNext('cuMemAlloc_v2', RESULT.OUT_OF_MEMORY, 2);
    expect((await errorOf(make)).code).toBe('DEVICE_OUT_OF_MEMORY');
    expect(context.resourceCount).toBe(before);
    const made = make();
    expect(made.bytes).toBeGreaterThan(0);
    made.dispose();
    expect(context.resourceCount).toBe(before);
  });
});
