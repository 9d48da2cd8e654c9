/**
 * Appends to a layer whose pages are in fragment order, in one launch: kernels/append.cuh.
 */
import {
  type AppendJob,
  type LayerPlan,
  type PackWork,
  type TensorWork,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';
import type { DeviceRange } from '../driver/device-memory.js';
import type { Launch } from '../driver/launch.js';
import type { AppendInstance } from '../instances.js';
import type { LayerMemory } from '../memory/store-memory.js';
import type { TensorMemory } from '../memory/tensor-memory.js';
import { packTile } from '../pages/pack-tile.js';
import type { Runtime } from '../runtime.js';
import { APPEND_JOB, CHECK_JOB, PACK_JOB, WRITE_JOB } from './append-job.js';
import type { AppendContext, AppendLaunch } from './append-launch.js';
import type { FragmentPages } from './fragment-pages.js';
import { WRITE_WORDS, writeWords } from './moves.js';
import { PACK_WORDS, packWords, SPAN_WORDS } from './pack-words.js';
import type { ValueCheck } from './step-inputs.js';
import { noRoom, type StepSession } from './step-session.js';

/** Room of captured steps: packs for each new token, and spans of a pack. */
const CAPTURED_PACKS = 2;
const CAPTURED_SPANS = 8;
/** Elements that a thread looks at, at once; blocks that look at a tensor. */
const CHECK_ELEMENTS = 8;
const MOST_CHECK_BLOCKS = 1024;

export interface FragmentAppendOptions {
  readonly runtime: Runtime;
  readonly instance: AppendInstance;
  readonly plan: LayerPlan;
  readonly memory: LayerMemory;
  readonly pages: { readonly key: FragmentPages; readonly value: FragmentPages };
}

const TENSORS = ['key', 'value'] as const;

export class FragmentAppend implements AppendLaunch {
  readonly #launch: Launch;
  readonly #tensors: readonly TensorAppend[];
  /** Classes and sizes: layers that have the same share tables. */
  readonly #name: string;

  /** Throws KERNEL_IMAGE_INVALID. */
  constructor({ runtime, instance, plan, memory, pages }: FragmentAppendOptions) {
    const { name } = instance;
    const tiles = TENSORS.map((tensor) => packTile(instance[tensor]));
    const threads = tiles[0]?.threads ?? 0;
    const kernel = runtime
      .module('pack', name)
      .kernel(name, [{ bytes: APPEND_JOB.bytes }, { bytes: APPEND_JOB.bytes }]);
    this.#launch = kernel.prepare({
      grid: [1],
      block: [threads],
      sharedBytes: Math.max(...tiles.map(({ sharedBytes }) => sharedBytes)),
      overlapsPrevious: kernel.canOverlap,
    });
    this.#tensors = TENSORS.map(
      (tensor, index) =>
        new TensorAppend(this.#launch.parameters.view(index), {
          memory: memory[tensor],
          pages: pages[tensor],
          tiles: tiles[index]?.tiles ?? 1,
          threads,
        }),
    );
    const words = this.#tensors.map(({ name: own }, index) => [
      plan[TENSORS[index] as 'key' | 'value'].class,
      own,
    ]);
    this.#name = `append of ${words.join()}`;
  }

  run(job: AppendJob, { launches, session, tables, input }: AppendContext): void {
    const parts = this.#tensors.map((tensor, index) =>
      tensor.partsOf(job.work[TENSORS[index] as 'key' | 'value'], session),
    );
    const bytes = parts.map(({ writeBytes, packBytes }) => writeBytes + packBytes);
    const total = bytes.reduce((sum, some) => sum + some, 0);
    const make = () => {
      const words = new Uint32Array(total / 4);
      for (const [index, part] of parts.entries())
        part.fill(words.subarray(index === 0 ? 0 : (bytes[0] ?? 0) / 4));
      return words;
    };
    let table = 0n;
    if (session !== undefined) table = session.table(this.#name, total / 4, job.work.key, make);
    else if (total > 0) table = tables.of(job.step, job.work.key, this.#name, make);
    if (launches === undefined) return;
    let blocks = 0;
    for (const [index, tensor] of this.#tensors.entries()) {
      const name = TENSORS[index] as 'key' | 'value';
      blocks += tensor.fill(parts[index] as Parts, table, input[name], input.checks[name]);
      table += BigInt(bytes[index] ?? 0);
    }
    if (blocks === 0) return;
    this.#launch.setGrid(blocks);
    this.#launch.run(launches);
  }
}

/** What a table says of one tensor: writes, then packs. */
interface Parts {
  /** Of the launch: those that there are not are empty. */
  readonly entries: number;
  readonly packs: number;
  readonly writeBytes: number;
  readonly packBytes: number;
  fill(words: Uint32Array): void;
}

interface TensorAppendOptions {
  readonly memory: TensorMemory;
  readonly pages: FragmentPages;
  /** Of a head. */
  readonly tiles: number;
  readonly threads: number;
}

/** One tensor's half of the job. */
class TensorAppend {
  readonly name: string;
  readonly #view: DataView;
  readonly #options: TensorAppendOptions;

  constructor(view: DataView, options: TensorAppendOptions) {
    const { memory, pages, tiles } = options;
    const { heads, headDim } = memory.plan;
    this.#view = view;
    this.#options = options;
    const sizes = [memory.sizeOf('packed'), memory.sizeOf('statistics')];
    this.name = [heads, headDim, pages.pagesOfBlock, ...sizes].join();
    const { pack, write, headTiles } = APPEND_JOB.fields;
    this.#setLong(pack + PACK_JOB.fields.headBytes, BigInt(pages.headBytes));
    this.#setLong(pack + PACK_JOB.fields.pages, memory.pointer('packed'));
    this.#setLong(pack + PACK_JOB.fields.windowRows, memory.pointer('window'));
    this.#setLong(pack + PACK_JOB.fields.statistics, memory.pointer('statistics'));
    this.#setLong(write + WRITE_JOB.fields.windows, memory.pointer('window'));
    this.#setWord(write + WRITE_JOB.fields.heads, heads);
    this.#setWord(write + WRITE_JOB.fields.headDim, headDim);
    this.#setWord(write + WRITE_JOB.fields.windowTokens, WINDOW_PAGE_TOKENS);
    this.#setWord(headTiles, heads * tiles);
  }

  /** Throws STEP_STATE where a captured step has more work than it has room for. */
  partsOf({ writes, packs }: TensorWork, session: StepSession | undefined): Parts {
    const { memory, pages } = this.#options;
    const some = pages.packsByPage(packs);
    const spans = some.reduce((sum, { sources }) => sum + sources.length, 0);
    // Each new token begins at most one run of slots.
    const entries = session?.options.rows ?? writes.length;
    const most =
      session === undefined
        ? some.length
        : CAPTURED_PACKS * session.options.rows * pages.pagesOfBlock;
    const mostSpans = session === undefined ? spans : most * CAPTURED_SPANS;
    if (writes.length > entries)
      throw noRoom(`${writes.length} window writes`, `at most ${entries}`);
    if (some.length > most) throw noRoom(`${some.length} packs`, `at most ${most}`);
    if (spans > mostSpans) throw noRoom(`${spans} runs of packed rows`, `at most ${mostSpans}`);
    const writeBytes = 4 * WRITE_WORDS * entries;
    const pageBytes = memory.sizeOf('packed') / pages.pagesOfBlock;
    return {
      entries,
      packs: most,
      writeBytes,
      packBytes: 4 * (PACK_WORDS * most + SPAN_WORDS * mostSpans),
      fill: (words) => {
        words.set(writeWords(writes));
        words.set(packWords(memory, some as PackWork[], most, pageBytes), writeBytes / 4);
      },
    };
  }

  /** Writes what differs from launch to launch, and gives the number of blocks. */
  fill(
    { entries, packs, writeBytes }: Parts,
    table: bigint,
    input: DeviceRange,
    check: ValueCheck | undefined,
  ): number {
    const { memory, tiles, threads } = this.#options;
    const { heads } = memory.plan;
    const { fields } = APPEND_JOB;
    this.#setLong(fields.pack + PACK_JOB.fields.table, table + BigInt(writeBytes));
    this.#setLong(fields.pack + PACK_JOB.fields.inputRows, input.pointer);
    this.#setLong(fields.write + WRITE_JOB.fields.table, table);
    this.#setLong(fields.write + WRITE_JOB.fields.input, input.pointer);
    this.#setWord(fields.write + WRITE_JOB.fields.entries, entries);
    this.#setLong(fields.check + CHECK_JOB.fields.values, input.pointer);
    this.#setLong(fields.check + CHECK_JOB.fields.flag, check?.flag ?? 0n);
    const elements = check?.elements ?? 0;
    this.#setLong(fields.check + CHECK_JOB.fields.elements, BigInt(elements));
    const packBlocks = packs * heads * tiles;
    const writeBlocks = entries * heads;
    const checkBlocks = Math.min(
      MOST_CHECK_BLOCKS,
      Math.ceil(elements / (CHECK_ELEMENTS * threads)),
    );
    this.#setWord(fields.packBlocks, packBlocks);
    this.#setWord(fields.writeBlocks, writeBlocks);
    this.#setWord(fields.checkBlocks, checkBlocks);
    return packBlocks + writeBlocks + checkBlocks;
  }

  #setLong(offset: number, value: bigint): void {
    this.#view.setBigUint64(offset, value, true);
  }

  #setWord(offset: number, value: number): void {
    this.#view.setUint32(offset, value, true);
  }
}
