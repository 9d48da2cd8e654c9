/**
 * Work on one tensor of a plan, drawn at random, executed by the reference and by the general packing kernels on the fake driver:
 * memory before and after it.
 */
import {
  f16Tensor,
  type LayerPlan,
  LowbitKvError,
  type PackWork,
  type Plan,
  referenceBackend,
  type Span,
  type TensorPlan,
  type TensorWork,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';
import { createDraws } from '@lowbit-kv/core/testing';
import koffi from 'koffi';
import { DeviceMemory } from '../../../src/driver/device-memory.js';
import { UploadRing } from '../../../src/driver/upload-ring.js';
import { DeviceTensor } from '../../../src/general/device-tensor.js';
import { GeneralPages } from '../../../src/general/general-pages.js';
import { TensorMemory } from '../../../src/memory/tensor-memory.js';
import { BufferPool } from '../../../src/store/buffer-pool.js';
import { SharedTables } from '../../../src/store/shared-tables.js';
import { StepFlags } from '../../../src/store/step-flags.js';
import type { FakeKernel } from '../fake/kernels.js';
import { type Opened, withFake } from '../open-fake.js';
import { dataOf } from '../pack/data.js';
import { differenceOf } from '../pack/launches.js';

const PAGES = { packed: 4, window: 3, statistics: 2 } as const;
const KINDS = ['packed', 'window', 'statistics'] as const;
const INPUT_ROWS = 50;

type Bytes = Readonly<Record<(typeof KINDS)[number], Uint8Array>>;

interface TensorAppend {
  readonly tensor: 'key' | 'value';
  readonly before: Bytes;
  /** f16 `[rows, heads, headDim]`. */
  readonly input: Uint16Array;
  readonly work: TensorWork;
}

interface Outcome {
  readonly bytes: Bytes;
  /** The smallest head that has more outliers than there is room for. */
  readonly fault: number | null;
}

/** Pages full of noise, windows and an input of `kinds` of data, statistics, and packs into some of the pages. */
function drawAppend(plan: TensorPlan, kinds: readonly string[], seed: number): TensorAppend {
  const draw = createDraws(seed);
  const { heads, headDim, layout, tensor } = plan;
  if (layout === null) throw new TypeError('the tensor is not packed');
  const rows = PAGES.window * WINDOW_PAGE_TOKENS;
  // A head of a window page is as many rows of one head.
  const windows = dataOf(kinds, { tokens: rows, heads, headDim }, seed + 1);
  const piece = Uint8Array.from({ length: 4099 }, () => draw());
  const noise = (size: number) =>
    new Uint8Array(Buffer.alloc(size, size === 0 ? undefined : piece));
  const statistics = [0, 1].map((page) => ({
    page,
    sources: drawSpans(draw, tokensOf(plan, draw)),
  }));
  const unit = layout.tokensPerGroup;
  const units = layout.blockTokens / unit;
  const packs = [3, 0, 2].map((page): PackWork => {
    const first = draw() % 2 === 0 ? 0 : (draw() >> 1) % units;
    const some = 1 + ((draw() >> 1) % (units - first));
    const count = some * unit;
    return {
      page,
      slot: first * unit,
      count,
      sources: drawSpans(draw, count),
      statistics: plan.statisticsPageBytes === 0 ? -1 : draw() % 2,
    };
  });
  const before = {
    packed: withoutEnds(plan, noise(PAGES.packed * layout.pageBytes)),
    window: new Uint8Array(windows.buffer),
    statistics: noise(PAGES.statistics * plan.statisticsPageBytes),
  };
  return {
    tensor,
    before,
    input: dataOf(kinds, { tokens: INPUT_ROWS, heads, headDim }, seed + 2),
    work: {
      copies: [],
      statistics: plan.statisticsPageBytes === 0 ? [] : statistics,
      writes: [],
      packs,
    },
  };
}

function tokensOf({ scheme }: TensorPlan, draw: () => number): number {
  const wanted = scheme.bits === 16 ? [] : (scheme.transforms ?? []);
  const counts = wanted.map((step) => ('statisticsTokens' in step ? step.statisticsTokens : 1));
  return draw() % 3 === 0 ? 1 + (draw() % 40) : Math.max(1, ...counts);
}

/** Outliers of a pack begin where end offsets of the slot before it say: there is some room behind it. */
function withoutEnds({ layout }: TensorPlan, pages: Uint8Array): Uint8Array {
  if (layout === null || layout.sparse === null) return pages;
  const { offset, entryBytes, chunks } = layout.sparse.endOffsets;
  for (let page = 0; page < PAGES.packed; page++)
    for (let head = 0; head < layout.heads; head++)
      for (let entry = 0; entry < layout.blockTokens * chunks; entry++) {
        const at = page * layout.pageBytes + head * layout.headBytes + offset + entry * entryBytes;
        pages.fill(0, at, at + entryBytes);
        pages[at] = entry % 7;
      }
  return pages;
}

function drawSpans(draw: () => number, tokens: number): Span[] {
  const spans: Span[] = [];
  for (let left = tokens; left > 0; ) {
    const isInput = draw() % 3 === 0;
    const room = isInput ? INPUT_ROWS : WINDOW_PAGE_TOKENS;
    const slot = (draw() >> 2) % room;
    const count = Math.min(left, 1 + ((draw() >> 1) % (room - slot)));
    spans.push({
      source: isInput ? 'input' : 'window',
      page: isInput ? 0 : (draw() >> 3) % PAGES.window,
      slot,
      count,
      position: tokens - left,
    });
    left -= count;
  }
  return spans;
}

/** Runs work on every packed tensor of a plan; gives a line for each difference from what the reference leaves. */
export async function differencesOf(
  kernels: readonly FakeKernel[],
  plan: Plan,
  kinds: readonly string[],
  seed: number,
): Promise<string[]> {
  const differences: string[] = [];
  for (const [layer, layerPlan] of plan.layers.entries()) {
    for (const [i, tensor] of [layerPlan.key, layerPlan.value].entries()) {
      if (tensor.layout === null || tensor.codec !== undefined) continue;
      const append = drawAppend(tensor, kinds, seed + 20 * layer + 10 * i);
      const expected = await referenceOutcome(plan, layer, append);
      if (Buffer.compare(expected.bytes.packed, append.before.packed) === 0)
        throw new Error('the reference packs nothing');
      const addressOf = (buffer: ArrayBuffer) => BigInt(koffi.address(buffer));
      await withFake({ kernels, addressOf }, async (opened) => {
        const actual = await kernelOutcome(opened, tensor, append, seed % 2 === 0 ? 1 : 2 ** 24);
        const say = (what: string, value: unknown) =>
          differences.push(`${tensor.tensor}s of layer ${layer}: ${what} ${JSON.stringify(value)}`);
        if (!isSameFault(actual.fault, expected.fault))
          say('fault', [actual.fault, expected.fault]);
        for (const kind of KINDS) {
          const difference = differenceOf(actual.bytes[kind], expected.bytes[kind]);
          // What a failed step leaves in its pages is nobody's.
          if (difference !== undefined && (kind !== 'packed' || expected.fault === null))
            say(`${kind} pages`, difference);
        }
      });
    }
  }
  return differences;
}

/** The reference ends at the first token that fails: of its heads, some smaller one may fail later. */
function isSameFault(actual: number | null, reference: number | null): boolean {
  if (actual === null || reference === null) return actual === reference;
  return actual <= reference;
}

/** Memory as the reference leaves it. */
async function referenceOutcome(
  plan: Plan,
  layer: number,
  { tensor, before, input, work }: TensorAppend,
): Promise<Outcome> {
  const store = await referenceBackend().createStore(plan, {
    pages: plan.classes.map(() => PAGES),
    nonFinite: 'mask',
  });
  const own = plan.layers[layer] as LayerPlan;
  const numbersOf = (kind: (typeof KINDS)[number]) => [...Array(PAGES[kind]).keys()];
  for (const kind of KINDS)
    await store.writePages({ layer, tensor, kind, pages: numbersOf(kind) }, before[kind]);
  const tensorOf = (name: 'key' | 'value') => {
    const { heads, headDim } = own[name];
    const data = name === tensor ? input : new Uint16Array(0);
    return f16Tensor(data, [data.length / (heads * headDim), heads, headDim]);
  };
  const none: TensorWork = { copies: [], statistics: [], writes: [], packs: [] };
  const fault = await faultOf(() =>
    store.append({
      step: 0,
      layer,
      key: tensorOf('key'),
      value: tensorOf('value'),
      work: { key: none, value: none, [tensor]: work },
      rows: [],
    }),
  );
  const [packed, window, statistics] = await Promise.all(
    KINDS.map((kind) => store.readPages({ layer, tensor, kind, pages: numbersOf(kind) })),
  );
  return { bytes: { packed, window, statistics } as Bytes, fault };
}

/** Memory as the general kernels leave it. */
async function kernelOutcome(
  { context, stream, module }: Opened,
  plan: TensorPlan,
  { before, input, work }: TensorAppend,
  scratchBytes: number,
): Promise<Outcome> {
  const memory = TensorMemory.allocate(stream, plan, PAGES, plan.layout?.pageBytes ?? 0);
  const tensor = new DeviceTensor(context, plan);
  const rows = DeviceMemory.allocate(context, input.byteLength);
  const ring = new UploadRing(context);
  const scratch = new BufferPool(context);
  const flags = new StepFlags(context, stream);
  const tables = new SharedTables(stream, ring, scratch);
  const pages = new GeneralPages({ module, memory, tensor, scratch, scratchBytes, layer: 0 });
  // Pages are zeros only then.
  stream.synchronize();
  rows.all.upload(new Uint8Array(input.buffer));
  const pagesOf = (kind: (typeof KINDS)[number]) =>
    [...Array(memory.sizeOf(kind) === 0 ? 0 : PAGES[kind]).keys()].map((page) =>
      memory.page(kind, page),
    );
  for (const kind of KINDS)
    for (const [page, range] of pagesOf(kind).entries())
      range.upload(before[kind].subarray(page * range.bytes, (page + 1) * range.bytes));
  const step = 3;
  const pack = { launches: stream, session: undefined, step, tables, flags, input: rows.all };
  if (work.statistics.length > 0) pages.measure(pack, work.statistics);
  pages.pack(pack, work.packs);
  const fault = await faultOf(() => flags.check(step));
  const bytesOf = (kind: (typeof KINDS)[number]) =>
    Buffer.concat(pagesOf(kind).map((range) => range.download()));
  const bytes = {
    packed: bytesOf('packed'),
    window: bytesOf('window'),
    statistics: bytesOf('statistics'),
  };
  tables.release(step);
  for (const one of [memory, tensor, rows, ring, scratch, flags]) one.dispose();
  return { bytes, fault };
}

/** Head of the OUTLIER_CAPACITY that `work` throws. */
async function faultOf(work: () => unknown): Promise<number | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (!LowbitKvError.is(error) || error.code !== 'OUTLIER_CAPACITY') throw error;
    return error.where?.head as number;
  }
}
