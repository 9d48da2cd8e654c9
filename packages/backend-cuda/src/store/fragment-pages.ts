/**
 * Packed pages in the order in which tensor cores take them (kernels/layout.cuh): packing on the card, canonical bytes on the
 * host.
 */
import type { PackedTensorPlan, PackWork, TensorWork } from '@lowbit-kv/core';
import type { Launch } from '../driver/launch.js';
import type { Stream } from '../driver/stream.js';
import type { PackInstance } from '../instances.js';
import type { TensorMemory } from '../memory/tensor-memory.js';
import { packTile } from '../pages/pack-tile.js';
import { type PageMover, pageMover } from '../pages/page-layout.js';
import type { Runtime } from '../runtime.js';
import { PACK_WORDS, packWords, SPAN_WORDS } from './pack-words.js';
import type { PackContext, PackedPages } from './packed-pages.js';

/** PackJob of kernels/pack-commands.cuh. */
export const PACK_JOB = {
  bytes: 48,
  fields: { table: 0, headBytes: 8, pages: 16, windowRows: 24, inputRows: 32, statistics: 40 },
} as const;
/** Room of captured steps: packs for each new token, and spans of a pack. */
const CAPTURED_PACKS = 2;
const CAPTURED_SPANS = 8;
/** A dimension of the grid. */
const MOST_PACKS = 65_535;

export class FragmentPages implements PackedPages {
  readonly #memory: TensorMemory;
  readonly #plan: PackedTensorPlan;
  readonly #mover: PageMover;
  readonly #launch: Launch;
  readonly #tiles: number;
  readonly #sizes: string;
  readonly #statistics: Pick<PackedPages, 'measure'> | undefined;

  /** `statistics` measures sequences, where the plan does. Throws KERNEL_IMAGE_INVALID. */
  constructor(
    runtime: Runtime,
    instance: PackInstance,
    memory: TensorMemory,
    statistics: Pick<PackedPages, 'measure'> | undefined,
  ) {
    this.#statistics = statistics;
    this.#memory = memory;
    this.#plan = memory.plan as PackedTensorPlan;
    this.#mover = pageMover(this.#plan);
    const { headDim, heads } = this.#plan;
    const tile = packTile(instance);
    this.#tiles = heads * tile.tiles;
    this.#launch = runtime
      .module('pack')
      .kernel(instance.name, [{ bytes: PACK_JOB.bytes }])
      .prepare({
        grid: [1],
        block: [tile.threads],
        sharedBytes: tile.sharedBytes,
      });
    const job = this.#launch.parameters.view(0);
    const { fields } = PACK_JOB;
    job.setBigUint64(fields.headBytes, BigInt(this.#mover.layout.bytes), true);
    job.setBigUint64(fields.pages, memory.pointer('packed'), true);
    job.setBigUint64(fields.windowRows, memory.pointer('window'), true);
    job.setBigUint64(fields.statistics, memory.pointer('statistics'), true);
    this.#sizes = [heads, headDim, memory.sizeOf('packed'), memory.sizeOf('statistics')].join();
  }

  measure(context: PackContext, statistics: TensorWork['statistics']): void {
    this.#statistics?.measure?.(context, statistics);
  }

  pack({ launches, session, tables, step, input }: PackContext, packs: readonly PackWork[]): void {
    const job = this.#launch.parameters.view(0);
    job.setBigUint64(PACK_JOB.fields.inputRows, input.pointer, true);
    if (session !== undefined) {
      const most = CAPTURED_PACKS * session.options.rows;
      const words = most * (PACK_WORDS + CAPTURED_SPANS * SPAN_WORDS);
      const name = `packs of class ${this.#plan.class}, ${this.#sizes}`;
      const table = session.table(name, words, packs, () => packWords(this.#memory, packs, most));
      this.#run(launches, table, most);
      return;
    }
    for (let first = 0; first < packs.length; first += MOST_PACKS) {
      const some = packs.slice(first, first + MOST_PACKS);
      const sizes = `${first} ${this.#sizes}`;
      const table = tables.of(step, packs, sizes, () => packWords(this.#memory, some));
      this.#run(launches, table, some.length);
    }
  }

  #run(launches: Stream | undefined, table: bigint, packs: number): void {
    if (launches === undefined) return;
    this.#launch.parameters.view(0).setBigUint64(PACK_JOB.fields.table, table, true);
    this.#launch.setGrid(this.#tiles, packs);
    this.#launch.run(launches);
  }

  toCanonical(page: Uint8Array): Uint8Array {
    const { layout, heads } = this.#plan;
    const { bytes } = this.#mover.layout;
    const block = new Uint8Array(layout.pageBytes);
    for (let head = 0; head < heads; head++) {
      const piece = page.subarray(head * bytes, (head + 1) * bytes);
      this.#mover.toBlock(piece, block, head, 0, layout.blockTokens);
    }
    return block;
  }

  fromCanonical(block: Uint8Array): Uint8Array {
    const { layout, heads } = this.#plan;
    const { bytes } = this.#mover.layout;
    const page = new Uint8Array(heads * bytes);
    for (let head = 0; head < heads; head++) {
      const piece = page.subarray(head * bytes, (head + 1) * bytes);
      this.#mover.toPiece(block, head, piece, 0, layout.blockTokens);
    }
    return page;
  }
}
