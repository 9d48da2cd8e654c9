/**
 * What a launch costs the host, on the card of this machine: an empty kernel of three parameters, median over batches.
 * Run in the workspace: pnpm launch-cost [--device=0] [--library=path of libcuda]
 */
import { Context } from '../src/driver/context.js';
import { openCuda } from '../src/driver/cuda.js';
import { DeviceMemory } from '../src/driver/device-memory.js';
import { Graph } from '../src/driver/graph.js';
import { Module } from '../src/driver/module.js';
import { Stream } from '../src/driver/stream.js';
import { UploadRing } from '../src/driver/upload-ring.js';
import { cudaVersionText } from '../src/driver/version.js';

const PTX = `.version 7.0
.target sm_80
.address_size 64

.visible .entry empty(.param .u64 data, .param .u32 count, .param .f32 scale)
{
  ret;
}
`;
/** Below the 1024 launches that a stream holds, so that none waits for the card. */
const BATCH = 400;
const BATCHES = 51;
const TABLE_BYTES = 4096;

const option = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);

const library = option('library');
const cuda = await openCuda(library === undefined ? {} : { library });
const device = cuda.device(Number(option('device') ?? 0));
const context = Context.primary(device);
const stream = Stream.create(context);
const kernel = Module.load(context, PTX).kernel('empty', ['pointer', 'u32', 'f32']);
const memory = DeviceMemory.allocate(context, TABLE_BYTES);
const prepare = (overlapsPrevious: boolean) =>
  kernel
    .prepare({ grid: [132], block: [256], overlapsPrevious })
    .set(0, memory.all)
    .set(1, 1)
    .set(2, 1);
const plain = prepare(false);
const extended = prepare(true);
const graph = Graph.capture(stream, () => plain.run(stream));
const ring = new UploadRing(context);
const table = new Uint8Array(TABLE_BYTES);

/** Microseconds a call on the host, and with the card's work waited for. */
function time(call: () => void): { enqueue: number; throughput: number } {
  const enqueue: number[] = [];
  const throughput: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    const start = performance.now();
    for (let count = 0; count < BATCH; count++) call();
    const enqueued = performance.now();
    stream.synchronize();
    enqueue.push(((enqueued - start) * 1000) / BATCH);
    throughput.push(((performance.now() - start) * 1000) / BATCH);
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[BATCHES >> 1]!;
  return { enqueue: median(enqueue), throughput: median(throughput) };
}

const { name } = device.properties;
console.log(`${name}, driver for CUDA ${cudaVersionText(cuda.version)}, node ${process.version}`);
console.log(`us a call, median of ${BATCHES} batches of ${BATCH}: host alone / with the card`);
const rows: [string, () => void][] = [
  ['cuLaunchKernel', () => plain.run(stream)],
  ['cuLaunchKernelEx, dependent launch', () => extended.run(stream)],
  ['the same with one parameter set', () => extended.set(1, 2).run(stream)],
  ['cuGraphLaunch of one kernel', () => graph.run(stream)],
  [`upload of ${TABLE_BYTES} bytes`, () => ring.upload(stream, memory.all, table)],
];
context.run(() => {
  for (const [label, call] of rows) {
    time(call);
    const { enqueue, throughput } = time(call);
    console.log(`${label.padEnd(36)} ${enqueue.toFixed(2)} / ${throughput.toFixed(2)}`);
  }
});
const outside = time(() => plain.run(stream));
console.log(
  `${'cuLaunchKernel outside `context.run`'.padEnd(36)} ${outside.enqueue.toFixed(2)} / ${outside.throughput.toFixed(2)}`,
);
ring.dispose();
context.dispose();
