/**
 * Packs a tensor of any plan into canonical pages, and measures statistics pages: kernels/general-pack.cuh.
 */
import {
  isMeasured,
  LowbitKvError,
  type PackWork,
  type TensorWork,
  transformsOf,
} from '@lowbit-kv/core';
import type { DeviceMemory } from '../driver/device-memory.js';
import type { Kernel } from '../driver/kernel.js';
import type { Launch } from '../driver/launch.js';
import type { Module } from '../driver/module.js';
import type { Stream } from '../driver/stream.js';
import type { TensorMemory } from '../memory/tensor-memory.js';
import { PACK_JOB } from '../store/append-job.js';
import { notMeasured } from '../store/packed-pages.js';
import type { DeviceTensor } from './device-tensor.js';
import { type GeneralTiles, generalTiles } from './general-tiles.js';
import { GENERAL_JOB, type GENERAL_PACK_KERNELS } from './structs.js';

export const GENERAL_THREADS = 256;
const SCRATCH_BYTES = 2 ** 26;
/** A dimension of the grid. */
const MOST_PACKS = 65_535;

/** Memory for a launch, in the order of the stream. */
export interface Scratch {
  take(bytes: number): DeviceMemory;
  give(memory: DeviceMemory): void;
}

export interface GeneralPackOptions {
  /** The part of an image with the kernels. */
  readonly module: Module;
  /** Its packed pages are canonical: `layout.pageBytes` each. */
  readonly memory: TensorMemory;
  readonly tensor: DeviceTensor;
  readonly scratch: Scratch;
  /** Of the rows of one launch, unless one pack takes more. Default 64 MiB. */
  readonly scratchBytes?: number;
}

export interface GeneralWork {
  /** CUdeviceptr of the table of packs and spans, as kernels/pack-commands.cuh reads it. */
  readonly table: bigint;
  /** CUdeviceptr of what the step appends; 0n where no span is of it. */
  readonly input: bigint;
}

interface Prepared {
  readonly launch: Launch;
  readonly tiles: GeneralTiles;
}

interface Transforms {
  /** By plane of statistics pages: the number of the transform that is measured. */
  readonly measured: readonly number[];
  readonly count: number;
}

type KernelName = (typeof GENERAL_PACK_KERNELS)[number];
type Word = Exclude<keyof typeof GENERAL_JOB.fields, 'commands' | 'tensor' | 'scratch' | 'fault'>;

export class GeneralPack {
  readonly #options: GeneralPackOptions;
  readonly #transforms: Transforms;
  /** Whether rows of packs lie in the scratch rather than in shared memory. */
  readonly #usesScratch: boolean;
  readonly #pack: Prepared;
  readonly #outliers: Prepared | undefined;
  readonly #statistics: { readonly gather: Prepared; readonly measure: Prepared } | undefined;

  /** Throws KERNEL_IMAGE_INVALID when the image lacks a kernel. */
  constructor(options: GeneralPackOptions) {
    const { memory, module } = options;
    const { plan } = memory;
    this.#options = options;
    this.#transforms = measuredTransforms(memory);
    const tiles = generalTiles(plan, 'pack');
    const hasBands = plan.layout?.sparse != null;
    const { sharedBytesPerBlockOptIn } = module.context.device.properties.limits;
    const fixedBytes = this.#kernel('general_pack').attributes.sharedBytes;
    const sharedBytes = 4 * tiles.tileWords;
    this.#usesScratch = hasBands || fixedBytes + sharedBytes > sharedBytesPerBlockOptIn;
    this.#pack = this.#prepare('general_pack', tiles, this.#usesScratch ? 0 : sharedBytes);
    this.#outliers = hasBands ? this.#prepare('general_outliers', tiles) : undefined;
    if (this.#transforms.measured.length === 0) return;
    const rows = generalTiles(plan, 'statistics');
    this.#statistics = {
      gather: this.#prepare('general_gather', rows),
      measure: this.#prepare('general_measure', rows),
    };
  }

  /**
   * Enqueues the packs of one append, which must be in the table from its first pack on. `fault`: address of a word that becomes
   * the smallest head that has more outliers than there is room for; 0n where the plan has no bands.
   */
  pack(stream: Stream, work: GeneralWork, packs: readonly PackWork[], fault: bigint): void {
    const outliers = this.#outliers;
    if (outliers !== undefined && fault === 0n) throw faultMissing();
    const counts = packs.map(({ count }) => count);
    for (const chunk of this.#chunks(counts, this.#pack.tiles, this.#usesScratch)) {
      this.#withScratch(this.#usesScratch ? chunk.bytes : 0, (scratch) => {
        const words = { ...chunkWords(chunk), transforms: this.#transforms.count };
        this.#set(this.#pack, work, words, scratch, fault);
        this.#pack.launch.setGrid(chunk.runs, this.#pack.tiles.columns, chunk.packs);
        this.#pack.launch.run(stream);
        if (outliers === undefined) return;
        this.#set(outliers, work, words, scratch, fault);
        outliers.launch.setGrid(this.#options.memory.plan.heads, chunk.packs);
        outliers.launch.run(stream);
      });
    }
  }

  /**
   * Enqueues the statistics pages of one append: the packs of `statisticsPacks` must be in the table. Throws PLAN_REFUSED where the
   * plan takes none.
   */
  measure(stream: Stream, work: GeneralWork, statistics: TensorWork['statistics']): void {
    if (this.#statistics === undefined) throw notMeasured(this.#options.memory.plan);
    const { gather, measure } = this.#statistics;
    const counts = statisticsPacks(statistics).map(({ count }) => count);
    for (const chunk of this.#chunks(counts, gather.tiles, true)) {
      this.#withScratch(chunk.bytes, (scratch) => {
        for (const transforms of this.#transforms.measured) {
          const words = { ...chunkWords(chunk), transforms };
          this.#set(gather, work, words, scratch, 0n);
          gather.launch.setGrid(chunk.runs, gather.tiles.columns, chunk.packs);
          gather.launch.run(stream);
          this.#set(measure, work, words, scratch, 0n);
          measure.launch.setGrid(gather.tiles.columns, chunk.packs);
          measure.launch.run(stream);
        }
      });
    }
  }

  #kernel(name: KernelName): Kernel {
    return this.#options.module.kernel(name, [{ bytes: GENERAL_JOB.bytes }]);
  }

  #prepare(name: KernelName, tiles: GeneralTiles, sharedBytes = 0): Prepared {
    const { memory, tensor } = this.#options;
    const launch = this.#kernel(name).prepare({ grid: [1], block: [GENERAL_THREADS], sharedBytes });
    const job = launch.parameters.view(0);
    job.setBigUint64(PACK_JOB.fields.pages, memory.pointer('packed'), true);
    job.setBigUint64(PACK_JOB.fields.windowRows, memory.pointer('window'), true);
    job.setBigUint64(PACK_JOB.fields.statistics, memory.pointer('statistics'), true);
    tensor.write(job, GENERAL_JOB.fields.tensor);
    const { runTokens, tileHeads, tileWords } = tiles;
    setWords(job, { faultNumber: 0, runTokens, tileHeads, tileWords, unused: 0 });
    return { launch, tiles };
  }

  #set(
    { launch }: Prepared,
    { table, input }: GeneralWork,
    words: Partial<Record<Word, number>>,
    scratch: bigint,
    fault: bigint,
  ): void {
    const job = launch.parameters.view(0);
    job.setBigUint64(PACK_JOB.fields.table, table, true);
    job.setBigUint64(PACK_JOB.fields.inputRows, input, true);
    job.setBigUint64(GENERAL_JOB.fields.scratch, scratch, true);
    job.setBigUint64(GENERAL_JOB.fields.fault, fault, true);
    setWords(job, words);
  }

  /** Calls a function with the address of so many bytes; 0n for none. */
  #withScratch(bytes: number, enqueue: (scratch: bigint) => void): void {
    if (bytes === 0) {
      enqueue(0n);
      return;
    }
    const { scratch } = this.#options;
    const memory = scratch.take(bytes);
    try {
      enqueue(memory.pointer);
    } finally {
      scratch.give(memory);
    }
  }

  /** Packs in order; where rows lie in the scratch, as many at once as there is room for. */
  *#chunks(counts: readonly number[], tiles: GeneralTiles, usesScratch: boolean): Generator<Chunk> {
    if (counts.length === 0) return;
    const runs = Math.ceil(Math.max(...counts) / tiles.runTokens);
    const packBytes = 4 * runs * tiles.columns * tiles.tileWords;
    const { scratchBytes = SCRATCH_BYTES } = this.#options;
    const room = usesScratch ? Math.floor(scratchBytes / packBytes) : MOST_PACKS;
    const most = Math.min(MOST_PACKS, Math.max(1, room));
    for (let first = 0; first < counts.length; first += most) {
      const packs = Math.min(most, counts.length - first);
      yield { first, packs, runs, bytes: packs * packBytes };
    }
  }
}

interface Chunk {
  readonly first: number;
  readonly packs: number;
  readonly runs: number;
  /** Of all tiles. */
  readonly bytes: number;
}

function chunkWords({ first, runs }: Chunk) {
  return { firstPack: first, runs };
}

/** Statistics pages as the table names them: packs of no packed page. */
export function statisticsPacks(statistics: TensorWork['statistics']): PackWork[] {
  return statistics.map(({ page, sources }) => ({
    page: 0,
    slot: 0,
    count: sources.reduce((sum, { count }) => sum + count, 0),
    sources,
    statistics: page,
  }));
}

function setWords(job: DataView, words: Partial<Record<Word, number>>): void {
  for (const [field, value] of Object.entries(words) as [Word, number][])
    job.setUint32(GENERAL_JOB.fields[field], value, true);
}

function measuredTransforms(memory: TensorMemory): Transforms {
  const transforms = transformsOf(memory.plan);
  const measured = transforms.flatMap((transform, number) =>
    isMeasured(transform) ? [number] : [],
  );
  return { measured, count: transforms.length };
}

function faultMissing(): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: 'outliers of bands need a word that says when there are too many',
    value: 0n,
    valid: 'the address of a word of device memory',
    next: 'Pass the word of this append.',
  });
}
