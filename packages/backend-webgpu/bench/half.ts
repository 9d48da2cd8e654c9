/**
 * Times attention of one decode step over tensors that stay f16 on the GPU of this machine, at several workgroup counts, and
 * checks it against float64 on short sequences. Run: node half.mjs (bundled) [--shapes=8x131072,...] [--workgroups=...],
 * needs the package `webgpu` and a Vulkan, Metal or D3D12 driver.
 */
import type { AttendSequence } from '@lowbit-kv/core';
import { GrowingBuffer } from '../src/device/growing-buffer.js';
import { Pipelines } from '../src/device/pipelines.js';
import { Recorder } from '../src/device/recorder.js';
import { attentionPrograms } from '../src/shaders/attention-programs.js';
import { tensorNumbers } from '../src/shaders/tensor-numbers.js';
import {
  type AttendContext,
  type AttentionKernels,
  dispatchRound,
  placeRound,
} from '../src/store/attend.js';
import { openDevice } from './device.js';
import {
  attention,
  DIM,
  filledMemory,
  KV_HEADS,
  layer,
  QUERY_HEADS,
  spansOf,
} from './half-data.js';

const REPEATS = 5;
const BYTES_PER_SECOND = 4.48e12;

const { device } = await openDevice();
device.addEventListener('uncapturederror', (event) =>
  console.log(`GPU error: ${event.error.message.slice(0, 2000)}`),
);
const option = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);

interface Bench {
  readonly context: Omit<AttendContext, 'kernels' | 'workgroups'>;
  readonly sequences: readonly AttendSequence[];
  readonly queries: Float32Array;
  readonly output: GPUBuffer;
  readonly destroy: () => void;
}

const kernels = new Map<string, AttentionKernels>();
if (device.features.has('subgroups')) kernels.set('subgroups', await kernelsOf(true));
kernels.set('workgroup', await kernelsOf(false));

const short = open([1, 100, 333, 2500]);
for (const [name, made] of kernels)
  console.log(`${name.padEnd(9)} error ${(await errorOf(short, made)).toExponential(1)}`);
short.destroy();

for (const shape of (option('shapes') ?? '8x131072,1x131072,1x8192').split(',')) {
  const [batch, tokens] = shape.split('x').map(Number) as [number, number];
  const bench = open(Array.from({ length: batch }, () => tokens));
  const bytes = batch * tokens * KV_HEADS * DIM * 4;
  const floor = (bytes / BYTES_PER_SECOND) * 1e6;
  console.log(`B=${batch} L=${tokens} floor ${floor.toFixed(1)} us`);
  for (const [name, made] of kernels) {
    const cells: string[] = [];
    for (const workgroups of (option('workgroups') ?? '512,1056,2112,4224').split(',')) {
      const us = await time(bench, made, Number(workgroups));
      const share = `${(bytes / us / 1e3).toFixed(0)} GB/s ${((100 * floor) / us).toFixed(0)} %`;
      cells.push(`${workgroups}: ${us.toFixed(1)} us ${share}`);
    }
    console.log(`  ${name.padEnd(9)} ${cells.join('   ')}`);
  }
  bench.destroy();
}
process.exit(0);

async function kernelsOf(subgroupsOf32: boolean): Promise<AttentionKernels> {
  const pipelines = new Pipelines(device);
  const numbers = { key: tensorNumbers(layer.key), value: tensorNumbers(layer.value) };
  const options = { precision: 'exact', subgroupsOf32, integerDots: false } as const;
  const programs = attentionPrograms(layer, numbers, options);
  const [query, attend, merge] = await Promise.all([
    pipelines.kernel(programs.query),
    pipelines.kernel(programs.attend),
    pipelines.kernel(programs.merge),
  ]);
  return { ...programs, query, attend, merge };
}

/** One query of each of these sequences, on pages in random order. */
function open(lengths: readonly number[]): Bench {
  const { spans, pages } = spansOf(device, lengths);
  const [key, value] = [filledMemory(device, 'key', pages), filledMemory(device, 'value', pages)];
  const sequences = lengths.map((length, i): AttendSequence => {
    const view = { spans: spans[i] ?? [], statistics: -1 };
    return { firstQuery: i, queries: 1, length, key: view, value: view };
  });
  const queries = new Float32Array(lengths.length * QUERY_HEADS * DIM).map(
    (_, i) => Math.sin(i * 12.9898) * 1.2,
  );
  const buffer = (size: number) => device.createBuffer({ size, usage: 0x8c });
  const source = buffer(queries.byteLength);
  device.queue.writeBuffer(source, 0, queries);
  const output = buffer(queries.byteLength);
  const logSumExp = buffer(lengths.length * QUERY_HEADS * 4);
  const inputs = buffer(16);
  const recorder = new Recorder(device);
  const prepared = new GrowingBuffer(device, recorder, 'queries');
  const partials = new GrowingBuffer(device, recorder, 'partials');
  return {
    context: {
      plan: layer,
      recorder,
      key,
      value,
      inputs: { buffer: inputs, key: 0, value: 0 },
      query: { source, type: 'f32' },
      prepared,
      partials,
      output,
      logSumExp,
    },
    sequences,
    queries,
    output,
    destroy() {
      for (const used of [key.buffer, value.buffer, source, output, logSumExp, inputs])
        used.destroy();
      for (const part of [prepared, partials, recorder]) part.dispose();
    },
  };
}

/** Microseconds of attention and merge: the median of passes that follow a warm one in the same encoder. */
async function time(bench: Bench, made: AttentionKernels, workgroups: number): Promise<number> {
  const exactly = { ...made, fewestWorkgroups: workgroups };
  const context = { ...bench.context, kernels: exactly, workgroups };
  const { recorder } = context;
  const round = bench.sequences.map((sequence) => ({ sequence, ...sequence }));
  const tokens = bench.sequences.reduce((sum, { length }) => sum + length, 0);
  const [warm, timed] = tokens > 500000 ? [40, 15] : [200, 60];
  const times: number[] = [];
  const querySet = device.createQuerySet({ type: 'timestamp', count: 2 });
  const resolve = device.createBuffer({ size: 16, usage: 0x204 }); // QUERY_RESOLVE | COPY_SRC
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    recorder.submit();
    const placed = placeRound(context, round);
    for (let i = 0; i < warm; i++) dispatchRound(context, placed);
    recorder.timedPass(querySet, 0);
    for (let i = 0; i < timed; i++) dispatchRound(context, placed);
    recorder.submit();
    const bytes = await read(resolve, (encoder) =>
      encoder.resolveQuerySet(querySet, 0, 2, resolve, 0),
    );
    const [begin, end] = new BigUint64Array(bytes) as unknown as [bigint, bigint];
    times.push(Number(end - begin) / 1000 / timed);
  }
  querySet.destroy();
  resolve.destroy();
  return times.sort((a, b) => a - b)[REPEATS >> 1] as number;
}

/** Largest relative L2 error of a query head against float64. */
async function errorOf(bench: Bench, made: AttentionKernels): Promise<number> {
  const context = { ...bench.context, kernels: made, workgroups: 64 };
  const round = bench.sequences.map((sequence) => ({ sequence, ...sequence }));
  dispatchRound(context, placeRound(context, round));
  context.recorder.submit();
  const found = new Float32Array(await read(bench.output));
  const errors = bench.sequences.flatMap(({ length, key }, i) =>
    Array.from({ length: QUERY_HEADS }, (_, head) => {
      const at = (i * QUERY_HEADS + head) * DIM;
      const expected = attention(bench.queries.subarray(at, at + DIM), length, key.spans, head);
      const square = (value: (c: number) => number) =>
        expected.reduce((sum, _, c) => sum + value(c) ** 2, 0);
      const error = square((c) => (found[at + c] as number) - (expected[c] as number));
      return Math.sqrt(error / square((c) => expected[c] as number));
    }),
  );
  return errors.every(Number.isFinite) ? Math.max(...errors) : Number.NaN;
}

async function read(
  buffer: GPUBuffer,
  before?: (encoder: GPUCommandEncoder) => void,
): Promise<ArrayBuffer> {
  const staging = device.createBuffer({ size: buffer.size, usage: 9 }); // MAP_READ | COPY_DST
  const encoder = device.createCommandEncoder();
  before?.(encoder);
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  const bytes = staging.getMappedRange().slice(0);
  staging.destroy();
  return bytes;
}
