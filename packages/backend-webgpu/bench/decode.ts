/**
 * Times attention of one decode step over packed pages on the GPU of this machine: kernel time between timestamps of a
 * warm pass. Run: node decode.mjs (bundled) [--short] [--shapes=8x131072,...] [--plan=...] [--workgroups=2048]
 * [--passes=...] [--no-robustness] [--no-subgroups], needs the package `webgpu` and a Vulkan, Metal or D3D12 driver.
 */
import {
  type BlockLayout,
  createPlan,
  type Plan,
  type Scheme,
  type TensorScheme,
} from '@lowbit-kv/core';
import { bands, inlineCalibration, inlineScheme } from '@lowbit-kv/core/testing';
import { GrowingBuffer } from '../src/device/growing-buffer.js';
import { Pipelines } from '../src/device/pipelines.js';
import { Recorder } from '../src/device/recorder.js';
import { attentionPrograms, type Precision } from '../src/shaders/attention-programs.js';
import { tensorNumbers } from '../src/shaders/tensor-numbers.js';
import { type AttendContext, dispatchRound, placeRound } from '../src/store/attend.js';
import { toReduction } from '../src/store/page-order.js';
import { TensorMemory } from '../src/store/tensor-memory.js';
import { openDevice } from './device.js';
import { timeWarm } from './stopwatch.js';

const KV_HEADS = 8;
const QUERY_HEADS = 32;
const DIM = 128;
const BYTES_PER_SECOND = 4.48e12;

const f16 = { scale: 'f16' } as const;
const window = { recent: 0, flush: 128 };
const tensor = (
  along: 'tokens' | 'channels',
  bits: 2 | 3 | 4 | 8,
  size: number,
  symmetric = false,
): TensorScheme => ({
  bits,
  groups: { along, size },
  quantizer: symmetric
    ? { mode: 'symmetric', codes: 'fullSigned' }
    : { mode: 'asymmetric', codes: 'uniform' },
  parameters: symmetric ? f16 : { scale: 'f16', zero: 'f16' },
  window,
});

const PLANS: [string, TensorScheme, TensorScheme][] = [
  ['4 bit g128', tensor('tokens', 4, 128), tensor('channels', 4, 128)],
  ['4 bit g32', tensor('tokens', 4, 32), tensor('channels', 4, 32)],
  ['2 bit g128', tensor('tokens', 2, 128), tensor('channels', 2, 128)],
  ['2 bit g32', tensor('tokens', 2, 32), tensor('channels', 2, 32)],
  ['3 bit g32', tensor('tokens', 3, 32), tensor('channels', 3, 32)],
  ['InnerQ axes 4 bit', tensor('channels', 4, 32, true), tensor('tokens', 4, 32, true)],
  ['InnerQ axes 3 bit', tensor('channels', 3, 32, true), tensor('tokens', 3, 32, true)],
  ['InnerQ axes 2 bit', tensor('channels', 2, 32, true), tensor('tokens', 2, 32, true)],
  ['outlier bands', bands('midRise', 'head', 24), bands('midRise', 'head', 24)],
];

const GEOMETRY = {
  layers: 1,
  queryHeads: QUERY_HEADS,
  kvHeads: KV_HEADS,
  keyHeadDim: DIM,
  valueHeadDim: DIM,
};

function planOf(key: TensorScheme, value: TensorScheme): Plan {
  if (key.bits !== 16 && key.outliers !== undefined) {
    const scheme = inlineScheme({ key, value: value as typeof key });
    const calibration = inlineCalibration(scheme, GEOMETRY);
    return createPlan(scheme, GEOMETRY, { ...(calibration && { calibration }) });
  }
  const scheme: Scheme = {
    specVersion: 1,
    id: 'bench',
    title: 'bench',
    sinks: 0,
    packing: 'before-attention',
    key,
    value,
    calibration: { kind: 'none' },
  };
  return createPlan(scheme, GEOMETRY);
}

const { device, languageFeatures } = await openDevice(
  process.argv.includes('--no-robustness') ? ['disable_robustness'] : [],
);
device.addEventListener('uncapturederror', (event) =>
  console.log(`GPU error: ${event.error.message.slice(0, 2000)}`),
);
const { subgroupMinSize, subgroupMaxSize } = device.adapterInfo;
const subgroups =
  device.features.has('subgroups') &&
  subgroupMinSize === 32 &&
  subgroupMaxSize === 32 &&
  !process.argv.includes('--no-subgroups');
const option = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
const usual = process.argv.includes('--short') ? '8x131072' : '8x131072,1x131072,1x8192';
const shapes = (option('shapes') ?? usual).split(',').map((shape) => shape.split('x').map(Number));
const workgroups = Number(option('workgroups') ?? 2048);
const only = option('plan');

for (const [batch, tokens] of shapes as [number, number][]) {
  for (const [name, key, value] of PLANS) {
    if (only !== undefined && !name.includes(only)) continue;
    const plan = planOf(key, value);
    const layer = plan.layers[0] as Plan['layers'][number];
    const pages = Math.ceil(tokens / 128) * batch;
    const counts = { packed: pages, window: 1, statistics: 0 };
    const [keyMemory, valueMemory] = [layer.key, layer.value].map(
      (part) => new TensorMemory(device, part, counts, tensorNumbers(part).words),
    ) as [TensorMemory, TensorMemory];
    for (const memory of [keyMemory, valueMemory]) fill(memory, pages);
    const bytes =
      pages * ((layer.key.layout?.pageBytes ?? 0) + (layer.value.layout?.pageBytes ?? 0));
    const floor = (bytes / BYTES_PER_SECOND) * 1e6;
    const cells: string[] = [];
    for (const precision of ['fast', 'exact'] as Precision[]) {
      const us = await time(layer, keyMemory, valueMemory, batch, tokens, precision);
      cells.push(`${precision} ${us.toFixed(1)} us (${((100 * floor) / us).toFixed(0)} %)`);
    }
    console.log(
      `B=${batch} L=${tokens} ${name.padEnd(18)} floor ${floor.toFixed(1)} us  ${cells.join('  ')}`,
    );
    keyMemory.buffer.destroy();
    valueMemory.buffer.destroy();
  }
}
process.exit(0);

function fill(memory: TensorMemory, pages: number): void {
  const { plan } = memory;
  const layout = plan.layout;
  if (layout === null) throw new Error('packed tensors only');
  // Outliers take long to draw.
  const chunk = layout.sparse === null ? 64 : 16;
  const bytes = new Uint8Array(chunk * layout.pageBytes);
  let seed = 1;
  const words = new Uint32Array(bytes.buffer);
  for (let i = 0; i < words.length; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
    words[i] = seed ^ (seed >>> 13);
  }
  const halves = new Uint16Array(bytes.buffer);
  for (let page = 0; page < chunk; page++)
    for (let head = 0; head < layout.heads; head++)
      for (const { name, offset, count } of layout.parameters) {
        const first = (page * layout.pageBytes + head * layout.headBytes + offset) / 2;
        // Scales around 0.25, zeros around -2.
        for (let i = 0; i < count; i++)
          halves[first + i] =
            name === 'zero'
              ? 0xc000 | ((i * 53 + page * 7) & 0xff)
              : 0x3400 | ((i * 37 + page * 11) & 0xff);
      }
  if (layout.sparse !== null)
    for (let page = 0; page < chunk; page++) {
      const own = bytes.subarray(page * layout.pageBytes, (page + 1) * layout.pageBytes);
      drawOutliers(layout, own, page);
      toReduction(plan, own);
    }
  for (let page = 0; page < pages; page += chunk) {
    const size = Math.min(chunk, pages - page) * layout.pageBytes;
    device.queue.writeBuffer(memory.buffer, memory.byteOf('packed', page), bytes, 0, size);
  }
}

/** A tenth of all elements, in canonical order. */
function drawOutliers({ heads, headBytes, sparse }: BlockLayout, page: Uint8Array, seed: number) {
  if (sparse === null) return;
  let state = seed + 1;
  for (let head = 0; head < heads; head++) {
    const ends = new Uint16Array(
      page.buffer,
      page.byteOffset + head * headBytes + sparse.endOffsets.offset,
      2 * DIM,
    );
    let at = head * headBytes + sparse.entries.offset;
    let end = 0;
    for (let chunk = 0; chunk < 2 * DIM; chunk++) {
      for (let index = 0; index < 64; index++) {
        state = (Math.imul(state, 1664525) + 1013904223) | 0;
        // Upper bits: of ten outliers four are outer ones.
        if ((state >>> 8) % 10 !== 0) continue;
        const kind = (state >>> 20) % 10 < 4 ? 64 : 0;
        page[at++] = index | kind | ((state >>> 24) & 128);
        end++;
      }
      ends[chunk] = end;
    }
  }
}

async function time(
  layer: Plan['layers'][number],
  key: TensorMemory,
  value: TensorMemory,
  batch: number,
  tokens: number,
  precision: Precision,
): Promise<number> {
  const pipelines = new Pipelines(device);
  const recorder = new Recorder(device);
  const programs = attentionPrograms(
    layer,
    { key: tensorNumbers(layer.key), value: tensorNumbers(layer.value) },
    {
      precision,
      subgroupsOf32: subgroups,
      integerDots: languageFeatures.has('packed_4x8_integer_dot_product'),
    },
  );
  const [query, attend, merge] = await Promise.all([
    pipelines.kernel(programs.query),
    pipelines.kernel(programs.attend),
    pipelines.kernel(programs.merge),
  ]);
  const queries = new Float32Array(batch * QUERY_HEADS * DIM).map(
    (_, i) => Math.sin(i * 12.9898) * 1.2,
  );
  const buffer = (size: number) => device.createBuffer({ size, usage: 0x8c });
  const queryBuffer = buffer(queries.byteLength);
  device.queue.writeBuffer(queryBuffer, 0, queries);
  const output = buffer(queries.byteLength);
  const logSumExp = buffer(batch * QUERY_HEADS * 4);
  const context: AttendContext = {
    plan: layer,
    recorder,
    kernels: { ...programs, query, attend, merge },
    key,
    value,
    inputs: { buffer: buffer(16), key: 0, value: 0 },
    query: { source: queryBuffer, type: 'f32' },
    prepared: new GrowingBuffer(device, recorder, 'queries'),
    partials: new GrowingBuffer(device, recorder, 'partials'),
    output,
    logSumExp,
    workgroups,
  };
  const perSequence = Math.ceil(tokens / 128);
  const order = shuffled(perSequence * batch);
  const sequences = Array.from({ length: batch }, (_, i) => {
    const spans = Array.from({ length: perSequence }, (_, p) => ({
      source: 'packed' as const,
      page: order[i * perSequence + p] as number,
      slot: 0,
      count: 128,
      position: p * 128,
    }));
    return {
      firstQuery: i,
      queries: 1,
      length: tokens,
      key: { spans, statistics: -1 },
      value: { spans, statistics: -1 },
    };
  });
  const round = sequences.map((sequence) => ({
    sequence,
    firstQuery: sequence.firstQuery,
    queries: 1,
    length: tokens,
  }));
  const large = batch * tokens > 500000;
  const given = option('passes');
  const passes =
    given === undefined
      ? { warm: large ? 60 : 200, timed: large ? 15 : 60, repeats: 5 }
      : { warm: Number(given), timed: Number(given), repeats: 5 };
  const us = await timeWarm({ device, recorder }, passes, (count) => {
    const placed = placeRound(context, round);
    for (let i = 0; i < count; i++) dispatchRound(context, placed);
  });
  for (const used of [context.inputs.buffer, queryBuffer, output, logSumExp]) used.destroy();
  context.prepared.dispose();
  context.partials.dispose();
  recorder.dispose();
  return us;
}

function shuffled(count: number): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  let seed = 7;
  for (let i = count - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    const j = seed % (i + 1);
    [order[i], order[j]] = [order[j] as number, order[i] as number];
  }
  return order;
}
