/**
 * Times packing of whole prompts, window writes and imports on the GPU of this machine: kernel time between timestamps of a
 * warm pass, beside a copy of the same run. Packed bytes are compared with those of the path over f32 rows. Run: node pack.mjs
 * (bundled), needs the package `webgpu` and a Vulkan, Metal or D3D12 driver.
 */
import {
  createPlan,
  type PackWork,
  type Scheme,
  type TensorPlan,
  type TensorScheme,
  type TensorType,
} from '@lowbit-kv/core';
import { GpuContext } from '../src/device/context.js';
import { gpuTensor } from '../src/gpu-tensor.js';
import { type CodeOrder, codeOrder } from '../src/shaders/code-order.js';
import { shapeOf, type TileShape, tileShape } from '../src/shaders/pack-tile.js';
import type { Program } from '../src/shaders/programs.js';
import { tensorNumbers } from '../src/shaders/tensor-numbers.js';
import { tensorPrograms } from '../src/shaders/tensor-programs.js';
import { packRows, type RowKernels, writeRows } from '../src/store/append.js';
import { InputPool } from '../src/store/input-pool.js';
import { importKernels } from '../src/store/kernels.js';
import { packTiles } from '../src/store/pack-tiles.js';
import { TensorMemory } from '../src/store/tensor-memory.js';
import { openDevice } from './device.js';
import { timeWarm } from './stopwatch.js';

const HEADS = 8;
const DIM = 128;
const TOKENS = Number(process.argv.find((a) => a.startsWith('--tokens='))?.slice(9) ?? 32768);
/** Ragged in a page, in a word and in a group along channels. */
const RAGGED = 8 * 128 + 77;

const f16 = { scale: 'f16' } as const;
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
  window: { recent: 0, flush: 128 },
});

const PLANS: readonly (readonly [string, TensorScheme, TensorScheme])[] = [
  ['4 bit g128', tensor('tokens', 4, 128), tensor('channels', 4, 128)],
  ['4 bit g32', tensor('tokens', 4, 32), tensor('channels', 4, 32)],
  ['2 bit g128', tensor('tokens', 2, 128), tensor('channels', 2, 128)],
  ['2 bit g32', tensor('tokens', 2, 32), tensor('channels', 2, 32)],
  ['InnerQ axes 4 bit', tensor('channels', 4, 32, true), tensor('tokens', 4, 32, true)],
  ['InnerQ axes 3 bit', tensor('channels', 3, 32, true), tensor('tokens', 3, 32, true)],
  ['8 bit g64', tensor('tokens', 8, 64), tensor('channels', 8, 64)],
];

const { device } = await openDevice(
  process.argv.includes('--no-robustness') ? ['disable_robustness'] : [],
);
device.addEventListener('uncapturederror', (event) =>
  console.log(`GPU error: ${event.error.message.slice(0, 2000)}`),
);
const timed = device.features.has('timestamp-query') && !process.argv.includes('--bytes-only');
const context = new GpuContext(device);
const { recorder, pipelines } = context;
const inputs = device.createBuffer({ size: TOKENS * HEADS * DIM * 2, usage: 0x8c });
fillInput();

const heater = await copyKernel();
const copyGigabytes = (2 * heater.bytes) / (await time(heater.copy)) / 1000;
console.log(`copy: ${copyGigabytes.toFixed(0)} GB/s read and written`);
for (const [name, key, value] of PLANS) await benchPlan(name, key, value);
await benchWrites();
for (const type of ['f32', 'f16', 'bf16'] as const) await benchImport(type);
process.exit(0);

async function benchPlan(name: string, key: TensorScheme, value: TensorScheme): Promise<void> {
  const layer = createPlan(schemeOf(key, value), {
    layers: 1,
    queryHeads: HEADS,
    kvHeads: HEADS,
    keyHeadDim: DIM,
    valueHeadDim: DIM,
  }).layers[0];
  if (layer === undefined) throw new Error('a plan has a layer');
  for (const order of new Set<CodeOrder>([codeOrder(layer), 'canonical'])) {
    const totals: number[] = [];
    let bytes = 0;
    for (const plan of [layer.key, layer.value]) {
      const cells: string[] = [];
      const moved = movedBytes(plan);
      bytes += moved;
      let best = Number.POSITIVE_INFINITY;
      const expected = await bytesOfRows(plan, order);
      for (const [label, shape] of shapesOf(plan, order)) {
        const { microseconds, equal } = await benchTile(plan, order, shape, expected);
        best = Math.min(best, microseconds);
        cells.push(`${label} ${microseconds.toFixed(1)}${equal ? '' : ' WRONG BYTES'}`);
      }
      totals.push(best);
      console.log(`  ${plan.tensor} ${order}: ${cells.join('  ')} us`);
    }
    const us = totals.reduce((sum, part) => sum + part, 0);
    console.log(`${name} ${order}: keys and values ${figures(us, bytes)}`);
  }
}

/** Tile shapes to compare; the first is the one that is used. */
function shapesOf(plan: TensorPlan, order: CodeOrder): [string, TileShape][] {
  const chosen = tileShape(plan, order);
  if (chosen === null) throw new Error('a plan of this benchmark has tiles');
  const named = (shape: TileShape): [string, TileShape] => {
    const { rows, columns, patchSlots, patchQuads } = shape;
    return [`${rows}x${columns} lanes of ${patchSlots}x${4 * patchQuads}`, shape];
  };
  const all = [chosen, ...[64, 128, 256].map((lanes) => shapeOf(plan, order, lanes))];
  return [...new Map(all.flatMap((shape) => (shape === null ? [] : [named(shape)])))];
}

async function benchTile(
  plan: TensorPlan,
  order: CodeOrder,
  shape: TileShape,
  expected: Uint8Array,
): Promise<{ microseconds: number; equal: boolean }> {
  const numbers = tensorNumbers(plan);
  const pages = Math.ceil(TOKENS / 128);
  const memory = new TensorMemory(
    device,
    plan,
    { packed: pages, window: 1, statistics: 0 },
    numbers.words,
  );
  const programs = tensorPrograms(plan, numbers, order, shape).pack?.tile;
  if (programs === undefined || programs === null) throw new Error('no tile');
  const tile = { kernel: await pipelines.kernel(programs.program), shape };
  const target = { recorder, memory, order, inputs, inputHalf: 0 };
  packTiles(target, tile, packsOf(RAGGED, plan));
  const packed = await pagesOf(memory);
  const equal = packed.some((byte) => byte !== 0) && Buffer.compare(packed, expected) === 0;
  const packs = packsOf(TOKENS, plan);
  const microseconds = await time(() => packTiles(target, tile, packs));
  memory.buffer.destroy();
  return { microseconds, equal };
}

/** What the path over rows packs of a ragged prompt. */
async function bytesOfRows(plan: TensorPlan, order: CodeOrder): Promise<Uint8Array> {
  const numbers = tensorNumbers(plan);
  const programs = tensorPrograms(plan, numbers, order, null).pack?.rows;
  if (programs === undefined || programs === null) throw new Error('no rows');
  const kernel = (program: Program) => pipelines.kernel(program);
  const kernels: RowKernels = {
    gather: await kernel(programs.gather),
    parameters: programs.parameters && (await kernel(programs.parameters)),
    codes: await kernel(programs.codes),
    top: null,
    outliers: null,
  };
  const pages = Math.ceil(TOKENS / 128);
  const memory = new TensorMemory(
    device,
    plan,
    { packed: pages, window: 1, statistics: 0 },
    numbers.words,
  );
  const scratch = context.scratch.atLeast(8 * 1024 * 1024);
  const fault = () => ({ buffer: context.nothing, number: 0 });
  for (const pack of packsOf(RAGGED, plan))
    packRows({ recorder, memory, order, inputs, inputHalf: 0, scratch, fault }, kernels, [pack]);
  const bytes = await pagesOf(memory);
  memory.buffer.destroy();
  return bytes;
}

async function pagesOf(memory: TensorMemory): Promise<Uint8Array> {
  const pages = packsOf(RAGGED, memory.plan).map(({ page }) => page);
  const ranges = pages.map((page) => ({
    offset: memory.byteOf('packed', page),
    size: memory.sizeOf('packed'),
  }));
  return context.read(memory.buffer, ranges);
}

/** One sequence on shuffled pages; what does not fill a group stays unpacked. */
function packsOf(tokens: number, { layout }: TensorPlan): PackWork[] {
  const order = shuffled(Math.ceil(TOKENS / 128));
  const group = layout?.tokensPerGroup ?? 1;
  const packed = Math.floor(Math.min(tokens, TOKENS) / group) * group;
  return Array.from({ length: Math.ceil(packed / 128) }, (_, i) => {
    const position = i * 128;
    const count = Math.min(128, packed - position);
    const span = { source: 'input' as const, page: -1, slot: position, count, position };
    return { page: order[i] as number, slot: 0, count, sources: [span], statistics: -1 };
  });
}

async function benchWrites(): Promise<void> {
  const key = { bits: 16 } as const;
  const layer = createPlan(schemeOf(key, key), {
    layers: 1,
    queryHeads: HEADS,
    kvHeads: HEADS,
    keyHeadDim: DIM,
    valueHeadDim: DIM,
  }).layers[0];
  if (layer === undefined) throw new Error('a plan has a layer');
  const numbers = tensorNumbers(layer.key);
  const pages = Math.ceil(TOKENS / 32);
  const memory = new TensorMemory(
    device,
    layer.key,
    { packed: 0, window: pages, statistics: 0 },
    numbers.words,
  );
  const { write, copy } = tensorPrograms(layer.key, numbers, 'canonical');
  const kernels = {
    write: await pipelines.kernel(write),
    copy: await pipelines.kernel(copy),
    pack: null,
  };
  const order = shuffled(pages);
  const writes = order.map((page, i) => ({ row: 32 * i, page, slot: 0, count: 32 }));
  const scratch = context.nothing;
  const fault = () => ({ buffer: context.nothing, number: 0 });
  const us = await time(() =>
    writeRows(
      { recorder, kernels, memory, order: 'canonical', scratch, inputs, inputHalf: 0, fault },
      writes,
    ),
  );
  memory.buffer.destroy();
  console.log(`window writes of one tensor: ${figures(us, TOKENS * HEADS * DIM * 4)}`);
}

async function benchImport(type: TensorType): Promise<void> {
  const pool = new InputPool(context, await importKernels(pipelines), 'error');
  const bytes = type === 'f32' ? 4 : 2;
  const elements = TOKENS * HEADS * DIM;
  const source = device.createBuffer({ size: elements * bytes, usage: 0x8c });
  const piece = new Uint32Array(1 << 20);
  for (let i = 0; i < piece.length; i++)
    piece[i] = type === 'f32' ? 0x3f800000 + ((i * 2654435761) >>> 9) : 0x3c003c00 + (i & 0x3ff);
  for (let at = 0; at < elements * bytes; at += piece.byteLength)
    device.queue.writeBuffer(
      source,
      at,
      piece,
      0,
      Math.min(piece.length, (elements * bytes - at) / 4),
    );
  const whole = gpuTensor(source, { type, shape: [TOKENS, HEADS, DIM] });
  const half = TOKENS / 2;
  const strided = gpuTensor(source, {
    type,
    shape: [half, HEADS, DIM],
    strides: [2 * HEADS * DIM, DIM],
  });
  const shifted = gpuTensor(source, { type, shape: [half, HEADS, DIM], offset: 2 });
  const nothing = gpuTensor(source, { type, shape: [0, HEADS, DIM] });
  const cells: string[] = [];
  for (const [name, tensor, count] of [
    ['dense', whole, elements],
    ['half the rows', strided, elements / 2],
    ['not aligned, half', shifted, elements / 2],
  ] as const) {
    let step = 0;
    const later: number[] = [];
    // Buffers of the pool are given back when their work is recorded: every import writes to the same one.
    const us = await time(
      () => {
        pool.put(step, 0, tensor, nothing, { layer: 0, firstHead: 0, heads: HEADS, rows: [] });
        later.push(step++);
      },
      () => {
        for (const used of later.splice(0)) pool.release(used);
      },
    );
    cells.push(`${name} ${figures(us, count * (bytes + 2))}`);
  }
  source.destroy();
  console.log(`import of one tensor from ${type}: ${cells.join('; ')}`);
}

/** Copies a buffer: what bandwidths are compared with, and what keeps clocks high before a time is taken. */
async function copyKernel(): Promise<{ readonly copy: () => void; readonly bytes: number }> {
  const bytes = timed ? 1 << 27 : 1 << 20;
  const [from, to] = [0, 1].map(() => device.createBuffer({ size: bytes, usage: 0x8c })) as [
    GPUBuffer,
    GPUBuffer,
  ];
  const code = `
struct Job { table: u32, entries: u32, zero: u32, first: u32 }
@group(0) @binding(0) var<uniform> job: Job;
@group(0) @binding(1) var<storage, read> commands: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> result: array<vec4<u32>>;
@compute @workgroup_size(256)
fn copyAll(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = group.x * 1024u + lane;
  let a = source[at];
  let b = source[at + 256u];
  let c = source[at + 512u];
  let d = source[at + 768u];
  result[at] = a;
  result[at + 256u] = b;
  result[at + 512u] = c;
  result[at + 768u] = d;
}`;
  const kernel = await pipelines.kernel({
    name: 'copyAll',
    code,
    entryPoint: 'copyAll',
    bindings: ['read', 'write'],
  });
  const groups: [number, number, number] = [bytes / (16 * 1024), 1, 1];
  const copy = () => {
    recorder.reserve(1, 0);
    recorder.dispatch({ kernel, buffers: [from, to], table: 0, groups });
  };
  return { copy, bytes };
}

/** Median microseconds of one call. `after` runs when what was recorded is submitted. */
async function time(work: () => void, after: () => void = () => undefined): Promise<number> {
  if (!timed) {
    work();
    recorder.submit();
    await device.queue.onSubmittedWorkDone();
    after();
    return 0;
  }
  const heat = () => repeat(700, heater.copy);
  return timeWarm({ device, recorder }, { warm: 5, timed: 10, repeats: 3, heat, after }, (passes) =>
    repeat(passes, work),
  );
}

function repeat(times: number, work: () => void): void {
  for (let i = 0; i < times; i++) work();
}

function figures(us: number, bytes: number): string {
  const gigabytes = bytes / us / 1000;
  return `${us.toFixed(1)} us, ${(bytes / 1e6).toFixed(0)} MB, ${gigabytes.toFixed(0)} GB/s, ${((100 * gigabytes) / copyGigabytes).toFixed(0)} % of copy`;
}

/** f16 in and canonical pages out. */
function movedBytes({ layout }: TensorPlan): number {
  return TOKENS * HEADS * DIM * 2 + Math.ceil(TOKENS / 128) * (layout?.pageBytes ?? 0);
}

function schemeOf(key: TensorScheme, value: TensorScheme): Scheme {
  return {
    specVersion: 1,
    id: 'bench',
    title: 'bench',
    sinks: 0,
    packing: 'before-attention',
    key,
    value,
    calibration: { kind: 'none' },
  };
}

/** About normal numbers of deviation 0.7: sums of uniform ones, in f16. */
function fillInput(): void {
  const halves = new Uint16Array(1 << 21);
  let seed = 1;
  const draw = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
    return (seed >>> 8) / 2 ** 24 - 0.5;
  };
  for (let i = 0; i < halves.length; i++)
    halves[i] = halfOf(1.2 * (draw() + draw() + draw() + draw()));
  const bytes = TOKENS * HEADS * DIM * 2;
  for (let at = 0; at < bytes; at += halves.byteLength)
    device.queue.writeBuffer(inputs, at, halves, 0, Math.min(halves.length, (bytes - at) / 2));
}

/** f16 bits, truncated. */
function halfOf(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0] as number;
  const exponent = ((bits >>> 23) & 255) - 112;
  const sign = (bits >>> 16) & 0x8000;
  return exponent < 1 ? sign : sign | (exponent << 10) | ((bits >>> 13) & 0x3ff);
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
