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
import { DeviceMemory } from '../../../src/driver/device-memory.js';
import { DeviceTensor } from '../../../src/general/device-tensor.js';
import { GeneralPack, statisticsPacks } from '../../../src/general/general-pack.js';
import { TensorMemory } from '../../../src/memory/tensor-memory.js';
import type { Opened } from '../open-fake.js';
import { dataOf } from '../pack/data.js';
import { packWords } from './pack-words.js';

const PAGES = { packed: 4, window: 5, statistics: 2 } as const;
const KINDS = ['packed', 'window', 'statistics'] as const;
const INPUT_ROWS = 50;
/** Of an outlier fault. */
const NONE = 0xffffffff;

type Bytes = Readonly<Record<(typeof KINDS)[number], Uint8Array>>;

export interface TensorAppend {
  readonly tensor: 'key' | 'value';
  readonly before: Bytes;
  /** f16 `[rows, heads, headDim]`. */
  readonly input: Uint16Array;
  readonly work: TensorWork;
}

export interface Outcome {
  readonly bytes: Bytes;
  /** The smallest head that has more outliers than there is room for. */
  readonly fault: number | null;
}

/** Pages full of noise, windows and an input of `kinds` of data, statistics, and packs into some of the pages. */
export function drawAppend(plan: TensorPlan, kinds: readonly string[], seed: number): TensorAppend {
  const draw = createDraws(seed);
  const { heads, headDim, layout, tensor } = plan;
  if (layout === null) throw new TypeError('the tensor is not packed');
  const rows = PAGES.window * WINDOW_PAGE_TOKENS;
  // A head of a window page is as many rows of one head.
  const windows = dataOf(kinds, { tokens: rows, heads, headDim }, seed + 1);
  const noise = (size: number) => Uint8Array.from({ length: size }, () => draw());
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

/** Memory as the reference leaves it. */
export async function referenceOutcome(
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
  let fault: number | null = null;
  try {
    store.append({
      step: 0,
      layer,
      key: tensorOf('key'),
      value: tensorOf('value'),
      work: { key: none, value: none, [tensor]: work },
      rows: [],
    });
  } catch (error) {
    if (!LowbitKvError.is(error) || error.code !== 'OUTLIER_CAPACITY') throw error;
    fault = error.where?.head as number;
  }
  const [packed, window, statistics] = await Promise.all(
    KINDS.map((kind) => store.readPages({ layer, tensor, kind, pages: numbersOf(kind) })),
  );
  return { bytes: { packed, window, statistics } as Bytes, fault };
}

/** Memory as the general kernels leave it. */
export function kernelOutcome(
  { context, stream, module }: Opened,
  plan: TensorPlan,
  { before, input, work }: TensorAppend,
): Outcome {
  const memory = TensorMemory.allocate(
    stream,
    plan,
    PAGES,
    (plan.layout?.pageBytes ?? 0) / plan.heads,
  );
  const tensor = new DeviceTensor(context, plan);
  const rows = upload(context, new Uint8Array(input.buffer));
  const fault = upload(context, new Uint8Array(Uint32Array.of(NONE).buffer));
  const owned: { dispose(): void }[] = [memory, tensor, rows, fault];
  const tableOf = (packs: readonly PackWork[]) => {
    const table = upload(context, new Uint8Array(packWords(memory, packs).buffer));
    owned.push(table);
    return table.pointer;
  };
  const scratch = {
    take: (bytes: number) => DeviceMemory.allocate(context, bytes),
    // Freeing waits for the stream.
    give: (taken: DeviceMemory) => taken.dispose(),
  };
  const general = new GeneralPack({ module, memory, tensor, scratch });
  // Pages are zeros only then.
  stream.synchronize();
  for (const kind of KINDS)
    for (let page = 0; page < PAGES[kind] && memory.sizeOf(kind) > 0; page++) {
      const size = memory.sizeOf(kind);
      memory.page(kind, page).upload(before[kind].subarray(page * size, (page + 1) * size));
    }
  const jobOf = (packs: readonly PackWork[]) => ({ table: tableOf(packs), input: rows.pointer });
  if (work.statistics.length > 0)
    general.measure(stream, jobOf(statisticsPacks(work.statistics)), work.statistics);
  general.pack(stream, jobOf(work.packs), work.packs, fault.pointer);
  stream.synchronize();
  const bytesOf = (kind: (typeof KINDS)[number]) =>
    Buffer.concat(
      [...Array(memory.sizeOf(kind) === 0 ? 0 : PAGES[kind]).keys()].map((page) =>
        memory.page(kind, page).download(),
      ),
    );
  const bytes = {
    packed: bytesOf('packed'),
    window: bytesOf('window'),
    statistics: bytesOf('statistics'),
  };
  const [word] = new Uint32Array(fault.all.download().slice().buffer);
  for (const one of owned) one.dispose();
  return { bytes, fault: word === NONE ? null : (word as number) };
}

function upload(context: Opened['context'], bytes: Uint8Array): DeviceMemory {
  const memory = DeviceMemory.allocate(context, Math.max(4, bytes.byteLength));
  memory.range(0, bytes.byteLength).upload(bytes);
  return memory;
}
