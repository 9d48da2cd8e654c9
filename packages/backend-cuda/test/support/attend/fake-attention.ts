/**
 * Attention kernels for the fake driver: read their job, tables and pages as kernels/decode.cuh, rows.cuh and bands.cuh do, and
 * compute in float64.
 */
import {
  createPlan,
  decodeF16,
  decodeTokens,
  f16ToF32,
  type PackedTensorPlan,
  type TensorCalibration,
} from '@lowbit-kv/core';
import { bands, inlineCalibration, inlineScheme } from '@lowbit-kv/core/testing';
import {
  BAND_JOB_BYTES,
  BAND_TENSOR,
  DECODE_JOB,
  ITEM,
  PAGE_ENTRY,
  PAGE_TOKENS,
  QUERY_TYPES,
  REST_ENTRY,
} from '../../../src/attend/structs.js';
import type { BandInstance, KernelInstance, RowsInstance } from '../../../src/instances.js';
import { outlierWords } from '../../../src/pages/outlier-words.js';
import { type PageLayout, pageLayout } from '../../../src/pages/page-layout.js';
import type { DeviceAccess, FakeKernel, KernelCall } from '../fake/kernels.js';

/** Blocks of a launch, as they were launched. */
export interface FakeLaunch {
  readonly grid: readonly number[];
  readonly block: readonly number[];
  readonly sharedBytes: number;
  readonly items: number;
}

export function fakeAttention(
  instance: KernelInstance | RowsInstance,
  launches: FakeLaunch[] = [],
): FakeKernel {
  const { headDim, key, value } = instance;
  const layouts = {
    key: pageLayout({ tensor: 'key', headDim, ...key }),
    value: pageLayout({ tensor: 'value', headDim, ...value }),
  };
  const reader: PieceReader = {
    bytesOf: (tensor) => layouts[tensor].bytes,
    row: (tensor, piece, slot) => slotOf(piece, layouts[tensor], slot),
  };
  return fakeKernel(instance, DECODE_JOB.bytes, () => reader, launches);
}

/** Over pages with words for outliers, decoded by the reference. */
export function fakeBandAttention(instance: BandInstance, launches: FakeLaunch[] = []): FakeKernel {
  return fakeKernel(
    instance,
    BAND_JOB_BYTES,
    ({ parameters }) => {
      const view = parameters.bytes(0);
      const at = { key: DECODE_JOB.bytes, value: DECODE_JOB.bytes + BAND_TENSOR.bytes };
      const bytesOf = (tensor: 'key' | 'value') =>
        view.getInt32(at[tensor] + BAND_TENSOR.fields.headBytes, true);
      return {
        bytesOf,
        row(tensor, piece, slot) {
          const { headBytes, ...edges } = BAND_TENSOR.fields;
          const thresholds = Object.fromEntries(
            Object.entries(edges).map(([edge, offset]) => [
              edge,
              view.getFloat32(at[tensor] + offset, true),
            ]),
          ) as NonNullable<TensorCalibration['thresholds']>;
          const plan = { ...bandPlanOf(instance.headDim, bytesOf(tensor)), tensor };
          const values = new Float32Array(instance.headDim);
          const page = outlierWords(plan).toCanonical(piece);
          decodeTokens({ ...plan, calibration: { thresholds } }, page, 0, slot, 1, values);
          return values;
        },
      };
    },
    launches,
  );
}

const bandPlans = new Map<string, PackedTensorPlan>();

/** Of one head, with as much room for outliers as its bytes say. */
function bandPlanOf(headDim: number, headBytes: number): PackedTensorPlan {
  const name = `${headDim} ${headBytes}`;
  const known = bandPlans.get(name);
  if (known !== undefined) return known;
  for (let reserve = 0; reserve <= 64; reserve++) {
    const tensor = bands('midRise', 'head', reserve);
    const scheme = inlineScheme({ key: tensor, value: tensor });
    const shape = { layers: 1, queryHeads: 1, kvHeads: 1 };
    const geometry = { ...shape, keyHeadDim: headDim, valueHeadDim: headDim };
    const calibration = inlineCalibration(scheme, geometry)!;
    const plan = createPlan(scheme, geometry, { blockTokens: PAGE_TOKENS, calibration });
    const { key } = plan.layers[0]!;
    if (key.layout?.headBytes !== headBytes) continue;
    bandPlans.set(name, key as PackedTensorPlan);
    return key as PackedTensorPlan;
  }
  throw new Error(`no page of head dim ${headDim} has ${headBytes} bytes`);
}

type AnyInstance = KernelInstance | RowsInstance | BandInstance;

/** How a kernel reads the packed pages of a head. */
interface PieceReader {
  bytesOf(tensor: 'key' | 'value'): number;
  row(tensor: 'key' | 'value', piece: Uint8Array, slot: number): Float32Array;
}

function fakeKernel(
  instance: AnyInstance,
  bytes: number,
  readerOf: (call: KernelCall) => PieceReader,
  launches: FakeLaunch[] = [],
): FakeKernel {
  return {
    name: instance.name,
    parameters: [{ bytes }],
    ptxVersion: 90,
    run(call) {
      const job = new Job(call, instance, readerOf(call));
      const { grid, block, sharedBytes } = call;
      launches.push({ grid, block, sharedBytes, items: job.items });
      // Later blocks first: the order is nobody's to count on.
      for (let share = grid[2] - 1; share >= 0; share--)
        for (let head = grid[1] - 1; head >= 0; head--)
          for (let item = grid[0] - 1; item >= 0; item--) job.runBlock(item, head, share, grid[2]);
    },
  };
}

/** What a block meets. */
interface BlockRows {
  /** Of the queries and results. */
  readonly rows: readonly number[];
  /** Positions that rows see. */
  readonly limits: readonly number[];
  /** Which count of arrivals. */
  readonly arrival: number;
  /** Rows that it leaves room for in partial results, and the first of them among those of a kv head. */
  readonly room: number;
  readonly firstRoom: number;
  /** Rows that kv heads leave room for. */
  readonly headRoom: number;
}

interface Seen {
  readonly output: Float64Array;
  largest: number;
  sum: number;
}

class Job {
  readonly items: number;
  readonly #memory: DeviceAccess;
  /** Decoded before. */
  readonly #rows = new Map<string, Float32Array>();
  readonly #view: DataView;
  readonly #headDim: number;
  readonly #instance: AnyInstance;
  /** Query heads of a kv head. */
  readonly #group: number;
  readonly #reader: PieceReader;

  constructor({ parameters, memory }: KernelCall, instance: AnyInstance, reader: PieceReader) {
    const { headDim } = instance;
    this.#memory = memory;
    this.#view = parameters.bytes(0);
    this.#headDim = headDim;
    this.#group = this.#integer('queryHeads');
    this.#instance = instance;
    this.#reader = reader;
    this.items = memory.at(Int32Array, this.#pointer('items'), 1)[0]!;
  }

  #pointer(field: keyof typeof DECODE_JOB.fields): bigint {
    return this.#view.getBigUint64(DECODE_JOB.fields[field], true);
  }

  #integer(field: 'kvHeads' | 'windowTokens' | 'queryType' | 'queryHeads'): number {
    return this.#view.getInt32(DECODE_JOB.fields[field], true);
  }

  #float(field: 'scale' | 'softCap'): number {
    return this.#view.getFloat32(DECODE_JOB.fields[field], true);
  }

  /** Integers of a struct of a table. */
  #struct(table: 'itemTable' | 'pageTable' | 'restTable', index: number, bytes: number) {
    return this.#memory.at(Uint32Array, this.#pointer(table) + BigInt(bytes * index), bytes / 4);
  }

  #halves(base: bigint, row: number): Float32Array {
    const pointer = base + BigInt(2 * row * this.#headDim);
    return decodeF16(this.#memory.at(Uint16Array, pointer, this.#headDim));
  }

  #query(row: number): Float32Array {
    const base = this.#pointer('queries');
    const type = QUERY_TYPES[this.#integer('queryType')]!;
    if (type === 'f16') return this.#halves(base, row);
    const first = row * this.#headDim;
    if (type === 'f32')
      return this.#memory.at(Float32Array, base + BigInt(4 * first), this.#headDim);
    const bits = this.#memory.at(Uint16Array, base + BigInt(2 * first), this.#headDim);
    return new Float32Array(Uint32Array.from(bits, (half) => half << 16).buffer);
  }

  /** A row of one head, by its source. */
  #row(tensor: 'key' | 'value', source: number, row: number, head: number): Float32Array {
    const name = `${tensor} ${source} ${row} ${head}`;
    const values = this.#rows.get(name) ?? this.#decodedRow(tensor, source, row, head);
    this.#rows.set(name, values);
    return values;
  }

  /** What keys of a sequence were multiplied with when they were packed, undone. */
  #plainKey(key: Float32Array, source: number, statistics: number, head: number): Float32Array {
    const pages = this.#pointer('keyStatistics');
    if (source !== 0 || statistics < 0 || pages === 0n) return key;
    const reciprocals = this.#halves(pages, statistics * this.#integer('kvHeads') + head);
    return key.map((value, channel) => value * Math.fround(1 / reciprocals[channel]!));
  }

  #decodedRow(tensor: 'key' | 'value', source: number, row: number, head: number): Float32Array {
    const heads = this.#integer('kvHeads');
    if (source === 2) return this.#halves(this.#pointer(`${tensor}Input`), row * heads + head);
    if (source === 1) {
      const tokens = this.#integer('windowTokens');
      const first = (Math.floor(row / tokens) * heads + head) * tokens;
      return this.#halves(this.#pointer(`${tensor}Windows`), first + (row % tokens));
    }
    const bytes = this.#reader.bytesOf(tensor);
    const piece = Math.floor(row / PAGE_TOKENS) * heads + head;
    const pointer = this.#pointer(`${tensor}s`) + BigInt(piece * bytes);
    const memory = this.#memory.at(Uint8Array, pointer, bytes);
    return this.#reader.row(tensor, memory, row % PAGE_TOKENS);
  }

  *#tokens(item: Uint32Array, head: number): Generator<[Float32Array, Float32Array, number]> {
    const field = (name: keyof typeof ITEM.fields) => item[ITEM.fields[name] / 4]!;
    const statistics = field('keyStatistics') | 0;
    const keyOf = (source: number, row: number) =>
      this.#plainKey(this.#row('key', source, row, head), source, statistics, head);
    for (let page = 0; page < field('pages'); page++) {
      const entry = this.#struct('pageTable', field('firstPage') + page, PAGE_ENTRY.bytes);
      const [key, value, position, slots] = entry as unknown as number[];
      for (let i = 0; i < slots! >>> 16; i++) {
        const slot = (slots! & 0xffff) + i;
        yield [
          keyOf(0, key! * PAGE_TOKENS + slot),
          this.#row('value', 0, value! * PAGE_TOKENS + slot, head),
          position! + i,
        ];
      }
    }
    for (let rest = 0; rest < field('rests'); rest++) {
      const entry = this.#struct('restTable', field('firstRest') + rest, REST_ENTRY.bytes);
      const [key, value, position] = entry as unknown as number[];
      yield [
        keyOf(key! >>> 30, key! & 0x3fffffff),
        this.#row('value', value! >>> 30, value! & 0x3fffffff, head),
        position!,
      ];
    }
  }

  /** `share` of `shares`: which query heads of the kv head. */
  runBlock(block: number, head: number, share: number, shares: number): void {
    const item = this.#struct('itemTable', block, ITEM.bytes);
    if (block >= this.items) return;
    const field = (name: keyof typeof ITEM.fields) => item[ITEM.fields[name] / 4]!;
    const [split, splits] = [field('split'), field('splits')];
    const heads = this.#integer('kvHeads');
    const { rows, limits, arrival, room, firstRoom, headRoom } = this.#rowsOf(
      item,
      head,
      share,
      shares,
    );
    const seen = rows.map((row, i) => this.#meet(item, head, this.#query(row), limits[i]!));
    if (splits === 1) {
      this.#write(rows, seen);
      return;
    }
    const floats = this.#headDim + 2;
    const partials = (index: number) => {
      const place = floats * ((index * heads + head) * headRoom + firstRoom);
      const pointer = this.#pointer('partials') + BigInt(4 * place);
      return this.#memory.at(Float32Array, pointer, room * floats);
    };
    this.#leave(partials(block), seen);
    const arrivals = this.#memory.at(
      Uint32Array,
      this.#pointer('arrivals') + BigInt(4 * arrival),
      1,
    );
    arrivals[0]! += 1;
    if (arrivals[0] !== splits) return;
    arrivals[0] = 0;
    const all = Array.from({ length: splits }, (_, i) => this.#take(partials(block - split + i)));
    this.#write(
      rows,
      seen.map((_, row) => joined(all.map((one) => one[row]!))),
    );
  }

  #rowsOf(item: Uint32Array, head: number, share: number, shares: number): BlockRows {
    const field = (name: keyof typeof ITEM.fields) => item[ITEM.fields[name] / 4]!;
    const heads = this.#integer('kvHeads');
    const group = this.#group;
    const place = field('sequence') * heads + head;
    if ('blockHeads' in this.#instance) {
      const { blockHeads } = this.#instance;
      const firstRoom = share * blockHeads;
      const room = Math.min(blockHeads, group - firstRoom);
      const rows = Array.from({ length: room }, (_, i) => place * group + firstRoom + i);
      const limits = rows.map(() => Number.POSITIVE_INFINITY);
      return { rows, limits, arrival: place * shares + share, room, firstRoom, headRoom: group };
    }
    const { rows: room } = this.#instance;
    const count = field('queries') * group;
    if (count > room || shares !== 1) throw new Error(`${count} rows in ${shares} blocks`);
    const token = (i: number) => Math.floor(i / group);
    return {
      rows: Array.from(
        { length: count },
        (_, i) => (place + token(i) * heads) * group + (i % group),
      ),
      limits: Array.from({ length: count }, (_, i) => field('position') + token(i)),
      arrival: place,
      room,
      firstRoom: 0,
      headRoom: room,
    };
  }

  #meet(item: Uint32Array, head: number, query: Float32Array, limit: number): Seen {
    const parts: { readonly value: Float32Array; readonly logit: number }[] = [];
    const [scale, cap] = [this.#float('scale'), this.#float('softCap')];
    for (const [key, value, position] of this.#tokens(item, head)) {
      if (position > limit) continue;
      let logit = 0;
      for (let i = 0; i < key.length; i++) logit += key[i]! * query[i]!;
      logit *= scale;
      if (cap > 0) logit = cap * Math.tanh(logit / cap);
      parts.push({ value, logit });
    }
    const output = new Float64Array(this.#headDim);
    let [largest, sum] = [Number.NEGATIVE_INFINITY, 0];
    for (const { logit } of parts) largest = Math.max(largest, logit);
    for (const { value, logit } of parts) {
      const weight = 2 ** (logit - largest);
      sum += weight;
      for (let i = 0; i < value.length; i++) output[i]! += weight * value[i]!;
    }
    return { output, largest, sum };
  }

  /** Outputs of all rows that there is room for, then their maxima, then their sums. */
  #leave(partial: Float32Array, seen: readonly Seen[]): void {
    const room = partial.length / (this.#headDim + 2);
    for (const [row, { output, largest, sum }] of seen.entries()) {
      partial.set(output, row * this.#headDim);
      partial[room * this.#headDim + row] = largest;
      partial[room * (this.#headDim + 1) + row] = sum;
    }
  }

  #take(partial: Float32Array): Seen[] {
    const room = partial.length / (this.#headDim + 2);
    return Array.from({ length: room }, (_, row) => ({
      output: Float64Array.from(partial.subarray(row * this.#headDim, (row + 1) * this.#headDim)),
      largest: partial[room * this.#headDim + row]!,
      sum: partial[room * (this.#headDim + 1) + row]!,
    }));
  }

  #write(rows: readonly number[], seen: readonly Seen[]): void {
    const logSumExp = this.#pointer('logSumExp');
    for (const [i, { output, largest, sum }] of seen.entries()) {
      const row = rows[i]!;
      const pointer = this.#pointer('output') + BigInt(4 * row * this.#headDim);
      const target = this.#memory.at(Float32Array, pointer, this.#headDim);
      for (let c = 0; c < this.#headDim; c++) target[c] = sum > 0 ? output[c]! / sum : 0;
      if (logSumExp === 0n) continue;
      this.#memory.at(Float32Array, logSumExp + BigInt(4 * row), 1)[0] =
        sum > 0 ? (largest + Math.log2(sum)) * Math.LN2 : Number.NEGATIVE_INFINITY;
    }
  }
}

/** Decodes a token of a piece. */
function slotOf(piece: Uint8Array, layout: PageLayout, slot: number): Float32Array {
  const { bits, headDim, along, groupSize, hasZero, isHybrid } = layout.shape;
  const half = (byte: number) => f16ToF32(piece[byte]! | (piece[byte + 1]! << 8));
  return Float32Array.from({ length: headDim }, (_, channel) => {
    const [own, other] = along === 'tokens' ? [slot, channel] : [channel, slot];
    const place = 2 * layout.parameterPlace(Math.floor(own / groupSize), other);
    let code = 0;
    for (let number = 0; number < bits; number++) {
      const bit = layout.codeBit(slot, channel, number);
      code |= ((piece[bit >> 3]! >> (bit & 7)) & 1) << number;
    }
    const scale = half(layout.scaleByte + place);
    const isOver = hasZero && (!isHybrid || piece[layout.scaleByte + place + 1]! >> 7 === 1);
    if (!isOver) return scale * (code - 2 ** (bits - 1));
    return (isHybrid ? Math.abs(scale) : scale) * code + half(layout.zeroByte + place);
  });
}

/** Logits are to base 2. */
function joined(parts: readonly Seen[]): Seen {
  const largest = Math.max(...parts.map((part) => part.largest));
  const result: Seen = { output: new Float64Array(parts[0]!.output.length), largest, sum: 0 };
  if (largest === Number.NEGATIVE_INFINITY) return result;
  for (const part of parts) {
    const share = 2 ** (part.largest - largest);
    result.sum += part.sum * share;
    for (let i = 0; i < part.output.length; i++) result.output[i]! += part.output[i]! * share;
  }
  return result;
}
