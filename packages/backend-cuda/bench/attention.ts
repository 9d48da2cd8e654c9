/**
 * Decode attention through the public API on the card of this machine: pages packed by `append`, one graph replay a figure,
 * microseconds a layer, and the worst relative error of a (sequence, query head) against float64.
 * Run in the workspace: pnpm bench-cuda [--rows=text of a row] [--sustained] [--check] [--images=FOLDER]
 */
import {
  type Calibration,
  createCache,
  createPlan,
  f16Tensor,
  f32ToF16,
  type Geometry,
  type Plan,
  referenceBackend,
  roundToF16,
  type TensorCalibration,
  type TensorPlan,
  type TensorScheme,
} from '@lowbit-kv/core';
import {
  asymmetric,
  bands,
  channelScaled,
  createDraws,
  hybrid,
  inlineCalibration,
  inlineScheme,
  symmetric,
} from '@lowbit-kv/core/testing';
import { cudaTensor, DeviceMemory, Graph } from '../src/index.js';
import { benchBackend } from './bench-backend.js';
import { fillCache } from './filled-cache.js';
import { Stopwatch } from './stopwatch.js';

const BANDWIDTH = 4.48e12;

interface Row {
  readonly name: string;
  readonly key: TensorScheme;
  readonly value: TensorScheme;
  readonly lengths: readonly number[];
  readonly geometry?: Partial<Geometry>;
  readonly sinks?: number;
  readonly queries?: number;
}

const even = (batch: number, tokens: number) =>
  Array.from({ length: batch }, (_, i) => tokens - ((37 * i) % 128));
const K = 1024;

function affine(bits: 2 | 4, size: 32 | 64 | 128): Pick<Row, 'key' | 'value'> {
  return {
    key: asymmetric(bits, 'tokens', size, { recent: 0, flush: 128 }),
    value: asymmetric(bits, 'channels', size, { recent: 128, flush: 1 }),
  };
}

/** Keys by token, normalised by the channel, values by channel: groups of 32 along what attention sums over. */
function inner(values: '4 bit' | '3 bit' | '2 bit' | '2 bit hybrid'): Pick<Row, 'key' | 'value'> {
  const window = { recent: 96, flush: 32 };
  const bits = Number(values[0]) as 2 | 3 | 4;
  const key = symmetric(bits === 4 ? 4 : 3, 'full', 'channels', 32, window);
  return {
    key: bits === 4 ? key : channelScaled(key, 128),
    value: values.endsWith('hybrid')
      ? hybrid(2, 'full', 2, 'symmetric', 'tokens', 32, window)
      : symmetric(bits, 'full', 'tokens', 32, window),
  };
}

const LONG = even(8, 128 * K);
const ROWS: readonly Row[] = [
  { name: '4 bit g128, B=8, 128K', ...affine(4, 128), lengths: LONG },
  { name: '4 bit g32, B=8, 128K', ...affine(4, 32), lengths: LONG },
  { name: '2 bit g128, B=8, 128K', ...affine(2, 128), lengths: LONG },
  { name: '2 bit g32, B=8, 128K', ...affine(2, 32), lengths: LONG },
  { name: '4 bit g128, B=1, 128K', ...affine(4, 128), lengths: even(1, 128 * K) },
  { name: '4 bit g128, B=1, 8K', ...affine(4, 128), lengths: even(1, 8 * K) },
  {
    name: '4 bit g128, ragged 1 to 128K, B=8',
    ...affine(4, 128),
    lengths: [1, 700, 4 * K, 9 * K, 20 * K, 60 * K, 100 * K, 128 * K],
  },
  { name: '4 bit g128, eight queries, B=8, 128K', ...affine(4, 128), lengths: LONG, queries: 8 },
  ...[1, 2, 8, 16].map((group) => ({
    name: `4 bit g128, ${group} query heads a kv head, B=8, 32K`,
    ...affine(4, 128),
    lengths: even(8, 32 * K),
    geometry: { queryHeads: 8 * group },
  })),
  ...[8, 16].map((group) => ({
    name: `2 bit g32, ${group} query heads a kv head, B=8, 32K`,
    ...affine(2, 32),
    lengths: even(8, 32 * K),
    geometry: { queryHeads: 8 * group },
  })),
  {
    name: '4 bit g128, MHA 32/32, B=8, 128K',
    ...affine(4, 128),
    lengths: LONG,
    geometry: { kvHeads: 32 },
  },
  ...(['3 bit', '2 bit', '2 bit hybrid', '4 bit'] as const).map((values) => ({
    name: `inner axes, keys ${values === '4 bit' ? 4 : 3} bit, values ${values}, B=8, 128K`,
    ...inner(values),
    lengths: LONG,
    sinks: 32,
  })),
  {
    name: 'outlier bands 4/90/6 a token and head, B=8, 128K',
    key: bands('midRise', 'head', 24),
    value: bands('midRise', 'head', 24),
    lengths: LONG,
  },
  ...[64, 256].map((dim) => ({
    name: `4 bit g${dim === 64 ? 32 : 128}, head dim ${dim}, B=8, 32K`,
    ...affine(4, dim === 64 ? 32 : 128),
    lengths: even(8, 32 * K),
    geometry: { keyHeadDim: dim, valueHeadDim: dim },
  })),
  { name: 'f16, B=8, 32K', key: { bits: 16 }, value: { bits: 16 }, lengths: even(8, 32 * K) },
];

const option = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3) ?? '';
const has = (name: string) => process.argv.includes(`--${name}`);

const backend = benchBackend();
const { context, stream } = await backend.open();
const stopwatch = new Stopwatch(context, stream);
const { name } = context.device.properties;
console.log(
  `${name}; microseconds a layer: burst, sustained, floor at 4.48 TB/s, share; worst error`,
);

function planOf({ key, value, sinks = 0, geometry }: Row, layers: number): Plan {
  const shape = { layers, queryHeads: 32, kvHeads: 8, keyHeadDim: 128, valueHeadDim: 128 };
  const scheme = inlineScheme({ key, value, sinks, packing: 'after-attention' });
  const whole = { ...shape, ...geometry };
  const calibration = withShares(inlineCalibration(scheme, whole));
  return createPlan(scheme, whole, {
    blockTokens: 128,
    ...(calibration === undefined ? {} : { calibration }),
  });
}

const OUTLIER_SHARE = 0.1;
/** Of normal values 4 % are outer, 6 % inner. */
const THRESHOLDS = {
  outerLow: roundToF16(-2.054),
  outerHigh: roundToF16(2.054),
  innerLow: roundToF16(-0.0753),
  innerHigh: roundToF16(0.0753),
};

function withShares(calibration: Calibration | undefined): Calibration | undefined {
  if (calibration === undefined) return undefined;
  const tensor = (own: TensorCalibration): TensorCalibration => ({
    ...own,
    thresholds: THRESHOLDS,
  });
  return {
    ...calibration,
    layers: calibration.layers.map(({ key = {}, value = {} }) => ({
      key: tensor(key),
      value: tensor(value),
    })),
  };
}

/** Canonical bytes that attention over these lengths reads, without padding. */
function floorBytes({ layers: [layer] }: Plan, lengths: readonly number[]): number {
  let bytes = 0;
  for (const tensor of [layer!.key, layer!.value]) {
    for (const length of lengths) bytes += bytesPerToken(tensor) * length;
  }
  return bytes;
}

function bytesPerToken({ layout, heads, headDim }: TensorPlan): number {
  if (layout === null) return 2 * heads * headDim;
  const { pageBytes, blockTokens, sparse } = layout;
  // Of the room for outliers a tenth of all elements is taken.
  const used = sparse === null ? 0 : sparse.entries.offset + OUTLIER_SHARE * headDim * blockTokens;
  return (sparse === null ? pageBytes : heads * used) / blockTokens;
}

async function measure(row: Row): Promise<string> {
  const { queries = 1, lengths } = row;
  const one = planOf(row, 1);
  const support = backend.supports(one);
  if (support.kind === 'refused') return `refused: ${support.reasons.join('; ')}`;
  const bytes = floorBytes(one, lengths);
  // Layers enough that none is met again before the L2 cache has forgotten it.
  const layers = Math.max(1, Math.min(64, Math.ceil(256e6 / bytes)));
  const plan = planOf(row, layers);
  const filled = await fillCache(backend, plan, lengths);
  const { queryHeads, keyHeadDim, valueHeadDim } = plan.layers[0]!.geometry;
  const rows = queries * lengths.length;
  const elements = rows * queryHeads * keyHeadDim;
  const draw = createDraws(3);
  const bits = Uint16Array.from({ length: elements }, () => f32ToF16((draw() - 2047.5) / 1182));
  const query = DeviceMemory.allocate(context, 2 * elements);
  query.all.upload(new Uint8Array(bits.buffer));
  const output = DeviceMemory.allocate(context, 4 * rows * queryHeads * valueHeadDim);
  const given = cudaTensor(query.all, { type: 'f16', shape: [rows, queryHeads, keyHeadDim] });
  const into = {
    output: cudaTensor(output.all, { type: 'f32', shape: [rows, queryHeads, valueHeadDim] }),
  };
  const counts = lengths.map((length) => Math.min(length, queries));
  const attend = (layer: number) =>
    filled.cache.attend(layer, given, filled.sequences, { queries: counts, into });
  if (counts.some((count) => count !== queries)) throw new Error('a sequence is too short');
  attend(0);
  const graph = Graph.capture(stream, () => {
    for (let layer = 0; layer < layers; layer++) attend(layer);
  });
  const { burst, sustained } = await stopwatch.time(graph, { sustained: has('sustained') });
  graph.dispose();
  const floor = (bytes / BANDWIDTH) * 1e6;
  const figures = [burst / layers, sustained / layers, floor].map((time) =>
    time.toFixed(1).padStart(8),
  );
  const error = has('check') && lengths.length <= 8 ? await errorOf() : '';
  filled.dispose();
  query.dispose();
  output.dispose();
  return `${figures.join('')} ${((100 * floor) / (burst / layers)).toFixed(0).padStart(4)} %  ${error}`;

  /** Of the shortest sequence, restored into a cache of the reference. */
  async function errorOf(): Promise<string> {
    const shortest = lengths.indexOf(Math.min(...lengths));
    const sequence = filled.sequences[shortest]!;
    const host = await createCache(plan, referenceBackend(), {
      capacity: { sequences: 1, tokens: lengths[shortest]! + 1024 },
    });
    const [restored] = await host.restore(await filled.cache.snapshot([sequence]));
    const width = queryHeads * keyHeadDim;
    const own = bits.subarray(shortest * queries * width, (shortest + 1) * queries * width);
    const reference = await host
      .attend(0, f16Tensor(own, [queries, queryHeads, keyHeadDim]), [restored!], {
        queries: [queries],
      })
      .read();
    attend(0);
    stream.synchronize();
    const actual = new Float32Array(output.all.download().slice().buffer);
    const expected = reference.output.data as Float32Array;
    let worst = 0;
    const first = shortest * queries * queryHeads;
    for (let head = 0; head < queries * queryHeads; head++) {
      let [difference, size] = [0, 0];
      for (let c = 0; c < valueHeadDim; c++) {
        const wanted = expected[head * valueHeadDim + c]!;
        difference += (actual[(first + head) * valueHeadDim + c]! - wanted) ** 2;
        size += wanted ** 2;
      }
      worst = Math.max(worst, Math.sqrt(difference / size));
    }
    return worst.toExponential(1);
  }
}

for (const row of ROWS) {
  if (!row.name.includes(option('rows'))) continue;
  console.log(`${row.name.padEnd(48)} ${await measure(row)}`);
}
backend.dispose();
