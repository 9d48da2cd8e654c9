/**
 * A layer of random pages on the fake driver, and what attention over them is.
 */
import {
  type AttendSequence,
  createPlan,
  decodeF16,
  decodeTokens,
  encodeTokens,
  f32ToF16,
  type LayerGeometry,
  type PackedTensorPlan,
  type Plan,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';
import { asymmetric, inlineScheme } from '@lowbit-kv/core/testing';
import { TARGETS, type Target, warpsOf } from '../../../scripts/kernel-sources.js';
import type { AttentionBuffers } from '../../../src/attend/attention-job.js';
import { AttentionScratch } from '../../../src/attend/attention-scratch.js';
import { LayerAttention } from '../../../src/attend/layer-attention.js';
import { StepTables } from '../../../src/attend/step-tables.js';
import { PAGE_TOKENS } from '../../../src/attend/structs.js';
import { slotsOf } from '../../../src/attend/work-list.js';
import { chooseInstance, chooseRowsInstances } from '../../../src/choose-instance.js';
import { DeviceMemory } from '../../../src/driver/device-memory.js';
import { UploadRing } from '../../../src/driver/upload-ring.js';
import { INSTANCES, ROWS_INSTANCES } from '../../../src/instances.js';
import { fragmentPageBytes, StoreMemory } from '../../../src/memory/store-memory.js';
import { pageMover } from '../../../src/pages/page-layout.js';
import type { Opened } from '../open-fake.js';
import { type Draw, drawsOf, visibleTokens } from './random-views.js';

export const HEAD_DIM = 128;
export const KV_HEADS = 2;
export const GROUP = 2;
const QUERY_HEADS = KV_HEADS * GROUP;
const PAGES = { packed: 40, window: 40, statistics: 0 };
const INPUT_ROWS = 400;
export const INSTANCE = INSTANCES.find(({ name }) => name === 'attend_k4t32z_v4c32z_d128_h4')!;
/** Shared memory as of the fake card. */
const FAKE_CARD = TARGETS.find(({ name }) => name === 'sm_90') as Target;
/** Fewer rows before more. */
export const OWN_ROWS = ROWS_INSTANCES.filter(({ name }) =>
  name.startsWith('rows_k4t32z_v4c32z_d128_'),
);

export interface SetupOptions {
  readonly capacity: number;
  readonly queries: number;
  readonly pageEntries?: number;
  readonly restEntries?: number;
  readonly slidingWindow?: LayerGeometry['slidingWindow'];
  readonly softCap?: number;
  /** With the kernel for several query tokens, where the plan takes it. */
  readonly withRows?: boolean;
}

export function planOf({ slidingWindow = null, softCap }: Partial<SetupOptions>): Plan {
  const scheme = inlineScheme({
    key: asymmetric(4, 'tokens', 32),
    value: asymmetric(4, 'channels', 32),
  });
  const geometry = {
    layers: 1,
    queryHeads: QUERY_HEADS,
    kvHeads: KV_HEADS,
    keyHeadDim: HEAD_DIM,
    valueHeadDim: HEAD_DIM,
    slidingWindow,
    ...(softCap === undefined ? {} : { softCap }),
  };
  return createPlan(scheme, geometry, { blockTokens: 128 });
}

/** f16 from -2.5 to 2.5. */
const VALUES = Uint16Array.from({ length: 501 }, (_, i) => f32ToF16((i - 250) / 100));

const bytesOf = (array: Uint16Array) => new Uint8Array(array.buffer);

interface SamplePage {
  /** Of all heads, one after another. */
  readonly pieces: Uint8Array;
  /** As the reference decodes the canonical block: [head][slot][channel]. */
  readonly values: Float32Array;
}

/** A few packed pages, made once: encoding takes its time. */
const SAMPLES = { key: samplesOf('key'), value: samplesOf('value') };

function samplesOf(tensor: 'key' | 'value'): readonly SamplePage[] {
  const plan = planOf({}).layers[0]![tensor] as PackedTensorPlan;
  const draw = drawsOf(tensor === 'key' ? 1 : 2);
  const mover = pageMover(plan);
  return Array.from({ length: 7 }, () => {
    const tokens = Uint16Array.from(
      { length: PAGE_TOKENS * KV_HEADS * HEAD_DIM },
      () => VALUES[draw(VALUES.length)]!,
    );
    const block = new Uint8Array(plan.layout.pageBytes);
    encodeTokens(plan, tokens, PAGE_TOKENS, null, block, 0);
    const pieces = new Uint8Array(KV_HEADS * mover.layout.bytes);
    const values = new Float32Array(KV_HEADS * PAGE_TOKENS * HEAD_DIM);
    for (let head = 0; head < KV_HEADS; head++) {
      const first = head * mover.layout.bytes;
      mover.toPiece(
        block,
        head,
        pieces.subarray(first, first + mover.layout.bytes),
        0,
        PAGE_TOKENS,
      );
      decodeTokens(plan, block, head, 0, PAGE_TOKENS, values, head * PAGE_TOKENS * HEAD_DIM);
    }
    return { pieces, values };
  });
}

export function setUp({ context, stream, module }: Opened, draw: Draw, options: SetupOptions) {
  const plan = planOf(options);
  const layer = plan.layers[0]!;
  const choice = chooseInstance(layer);
  if (choice.instance !== INSTANCE) throw new Error('the plan takes another kernel');
  const base = Uint16Array.from({ length: 65_521 }, () => VALUES[draw(VALUES.length)]!);
  const halves = (count: number) => {
    const first = draw(base.length);
    return Uint16Array.from({ length: count }, (_, i) => base[(first + i) % base.length]!);
  };

  const memory = StoreMemory.allocate(stream, plan, [PAGES, PAGES], fragmentPageBytes);
  // Zeros come in stream order; uploads do not wait for them.
  stream.synchronize();
  const pages = { key: poolOf('key'), value: poolOf('value') };
  function poolOf(tensor: 'key' | 'value') {
    const own = memory.layers[0]![tensor];
    const packed = Array.from({ length: PAGES.packed }, () => {
      const samples = SAMPLES[tensor];
      return samples[draw(samples.length)]!;
    });
    const window = Array.from({ length: PAGES.window }, () => halves(own.sizeOf('window') / 2));
    for (const [page, { pieces }] of packed.entries()) own.page('packed', page).upload(pieces);
    for (const [page, data] of window.entries()) own.page('window', page).upload(bytesOf(data));
    return { packed, window };
  }
  const device = (data: Uint16Array) => {
    const range = DeviceMemory.allocate(context, Math.max(2, data.byteLength)).all;
    range.upload(bytesOf(data));
    return range;
  };
  const input = {
    key: halves(INPUT_ROWS * KV_HEADS * HEAD_DIM),
    value: halves(INPUT_ROWS * KV_HEADS * HEAD_DIM),
  };
  const queries = halves(options.queries * QUERY_HEADS * HEAD_DIM);
  const floats = (count: number) => DeviceMemory.allocate(context, Math.max(4, 4 * count)).all;
  const ring = new UploadRing(context);
  const { capacity, pageEntries, restEntries, slidingWindow = null, withRows = false } = options;
  const rows = withRows ? chooseRowsInstances(layer) : [];
  const attention = new LayerAttention({
    module,
    instance: INSTANCE,
    warps: INSTANCE.warps,
    plan: layer,
    memory: memory.layers[0]!,
    rows: rows.map((own) => ({ module, instance: own, warps: warpsOf(own, FAKE_CARD) })),
  });
  const { blocks } = attention;
  const tables = new StepTables(context, ring, {
    slots: slotsOf(16, KV_HEADS),
    blocks,
    capacity,
    slidingWindow,
    ...(pageEntries === undefined ? {} : { pageEntries }),
    ...(restEntries === undefined ? {} : { restEntries }),
  });
  const scratch = AttentionScratch.allocate(
    stream,
    capacity * Math.max(1, ...blocks.map(({ room }) => room)),
    [layer.geometry],
  );

  const buffers: Required<AttentionBuffers> = {
    tables,
    scratch,
    queries: device(queries),
    queryType: 'f16',
    output: floats(options.queries * QUERY_HEADS * HEAD_DIM),
    logSumExp: floats(options.queries * QUERY_HEADS),
    input: { key: device(input.key), value: device(input.value) },
  };

  /** Row of a head by its place in words: `packed 3 17`. */
  const rowAt = (tensor: 'key' | 'value', place: string, head: number) => {
    const [source, ...numbers] = place.split(' ');
    const [page, slot] = numbers.map(Number) as [number, number];
    if (source === 'packed') {
      const row = head * PAGE_TOKENS + slot;
      return pages[tensor].packed[page]!.values.subarray(row * HEAD_DIM, (row + 1) * HEAD_DIM);
    }
    const data = source === 'input' ? input[tensor] : pages[tensor].window[page]!;
    const row = source === 'input' ? slot * KV_HEADS + head : head * WINDOW_PAGE_TOKENS + slot;
    return decodeF16(data.subarray(row * HEAD_DIM, (row + 1) * HEAD_DIM));
  };
  const { geometry } = layer;

  /** Output and log-sum-exp of all rows. */
  function expected(sequences: readonly AttendSequence[]) {
    const output = new Float64Array(options.queries * QUERY_HEADS * HEAD_DIM);
    const logSumExp = new Float64Array(options.queries * QUERY_HEADS);
    for (const sequence of sequences) {
      for (let query = 0; query < sequence.queries; query++) {
        const places = [...visibleTokens(sequence, query, slidingWindow).values()];
        for (let queryHead = 0; queryHead < QUERY_HEADS; queryHead++) {
          const index = (sequence.firstQuery + query) * QUERY_HEADS + queryHead;
          const q = decodeF16(queries.subarray(index * HEAD_DIM, (index + 1) * HEAD_DIM));
          const head = Math.floor(queryHead / GROUP);
          const logits = places.map((place) => {
            const key = rowAt('key', place.split(', ')[0]!, head);
            const dot = geometry.scale * key.reduce((sum, x, i) => sum + x * q[i]!, 0);
            return geometry.softCap === null
              ? dot
              : geometry.softCap * Math.tanh(dot / geometry.softCap);
          });
          const largest = Math.max(...logits);
          const weights = logits.map((logit) => Math.exp(logit - largest));
          const sum = weights.reduce((total, weight) => total + weight, 0);
          logSumExp[index] =
            places.length === 0 ? Number.NEGATIVE_INFINITY : largest + Math.log(sum);
          for (const [token, place] of places.entries()) {
            const value = rowAt('value', place.split(', ')[1]!, head);
            for (let i = 0; i < HEAD_DIM; i++)
              output[index * HEAD_DIM + i]! += (weights[token]! / sum) * value[i]!;
          }
        }
      }
    }
    return { output, logSumExp };
  }

  return { attention, buffers, expected, memory, ring, scratch, tables };
}
