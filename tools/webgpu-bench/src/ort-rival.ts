/**
 * The rival: one GroupQueryAttention node on the WebGPU provider of onnxruntime-node, GPU times of its kernels from the
 * provider's own profile. Prints Markdown; `--out file.json` keeps the figures. See the README.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as runtime from 'onnxruntime-node';
import { attentionModel } from './attention-model.js';
import { table } from './report.js';

const QUERY_HEADS = 32;
const KV_HEADS = 8;
const HEAD_DIM = 128;
/** Runs before those that count. */
const WARM_RUNS = 2;
const SHAPES = '1x8192,1x32768,1x131072,8x8192,8x32768';

type FloatType = 'float16' | 'float32';

interface Kernel {
  readonly name: string;
  /** Microseconds on the GPU, median of the runs. */
  readonly us: number;
}

interface Row {
  readonly batch: number;
  readonly tokens: number;
  /** Milliseconds of a run on the host's clock, median; uploads of the cache included. */
  readonly wall: number;
  readonly kernels: readonly Kernel[];
}

const { values } = parseArgs({
  options: {
    shapes: { type: 'string', default: SHAPES },
    type: { type: 'string', default: 'float16' },
    runs: { type: 'string', default: '8' },
    out: { type: 'string' },
  },
});
const type: FloatType = values.type === 'float32' ? 'float32' : 'float16';
const runs = Number(values.runs);
const rows: Row[] = [];
for (const shape of values.shapes.split(',')) {
  const [batch = 1, tokens = 1] = shape.split('x').map(Number);
  const row = await measure(batch, tokens);
  console.error(JSON.stringify(row));
  rows.push(row);
}
if (values.out !== undefined) {
  const record = { date: new Date().toISOString(), runtime: runtime.env.versions, type, rows };
  writeFileSync(values.out, `${JSON.stringify(record, null, 2)}\n`);
}
const names = [...new Set(rows.flatMap(({ kernels }) => kernels.map(({ name }) => name)))];
console.log(
  table(
    ['batch', 'tokens', 'type', ...names.map((name) => `${name} us`), 'wall ms'],
    rows.map(({ batch, tokens, wall, kernels }) => [
      ...[batch, tokens, type],
      ...names.map((name) => kernels.find((kernel) => kernel.name === name)?.us.toFixed(0) ?? ''),
      wall.toFixed(1),
    ]),
  ),
);

async function measure(batch: number, tokens: number): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'rival-'));
  try {
    const model = attentionModel({
      queryHeads: QUERY_HEADS,
      kvHeads: KV_HEADS,
      headDim: HEAD_DIM,
      type,
    });
    const session = await runtime.InferenceSession.create(model, {
      executionProviders: ['webgpu'],
      enableProfiling: true,
      profileFilePrefix: join(folder, 'profile'),
    });
    const past = [batch, KV_HEADS, tokens - 1, HEAD_DIM];
    const feeds = {
      query: filled([batch, 1, QUERY_HEADS * HEAD_DIM]),
      key: filled([batch, 1, KV_HEADS * HEAD_DIM]),
      value: filled([batch, 1, KV_HEADS * HEAD_DIM]),
      past_key: filled(past),
      past_value: filled(past),
      seqlens_k: new runtime.Tensor('int32', new Int32Array(batch).fill(tokens - 1), [batch]),
      total_sequence_length: new runtime.Tensor('int32', Int32Array.of(tokens), [1]),
    };
    const walls: number[] = [];
    for (let run = 0; run < WARM_RUNS + runs; run++) {
      const from = performance.now();
      await session.run(feeds, ['output']);
      walls.push(performance.now() - from);
    }
    session.endProfiling();
    const kernels = readProfile(folder);
    await session.release();
    return { batch, tokens, wall: median(walls.slice(WARM_RUNS)), kernels };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Numbers of about -1 to 1. */
function filled(dims: readonly number[]): runtime.Tensor {
  const elements = dims.reduce((product, size) => product * size, 1);
  if (type === 'float32') {
    const data = new Float32Array(elements);
    for (let i = 0; i < elements; i++) data[i] = Math.sin(i * 12.9898);
    return new runtime.Tensor('float32', data, dims);
  }
  const data = new Uint16Array(elements);
  let seed = 1;
  for (let i = 0; i < elements; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
    // Sign and fraction are drawn, the exponent is that of 0.5.
    data[i] = 0x3800 | ((seed >>> 16) & 0x83ff);
  }
  return new runtime.Tensor('float16', data, dims);
}

/** Times of the kernels of the runs that count, by name. */
function readProfile(folder: string): Kernel[] {
  const [file] = readdirSync(folder);
  if (file === undefined) throw new Error('onnxruntime wrote no profile');
  const events = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
    readonly cat: string;
    readonly name: string;
    readonly dur: number;
  }[];
  const times = new Map<string, number[]>();
  for (const { cat, name, dur } of events) {
    if (cat !== 'Api') continue;
    const kernel = name.split('&').at(-1) as string;
    const list = times.get(kernel) ?? [];
    list.push(dur);
    times.set(kernel, list);
  }
  return [...times].map(([name, list]) => {
    // A kernel may run more than once in a run.
    const each = list.length / (WARM_RUNS + runs);
    const sums = Array.from({ length: runs }, (_, run) =>
      list.slice((WARM_RUNS + run) * each, (WARM_RUNS + run + 1) * each).reduce((a, b) => a + b, 0),
    );
    return { name, us: median(sums) };
  });
}

function median(list: readonly number[]): number {
  return [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] as number;
}
