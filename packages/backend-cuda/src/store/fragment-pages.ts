/**
 * Packed pages in the order in which tensor cores take them (kernels/layout.cuh): packing on the card, canonical bytes on the
 * host.
 */
import type { PackedTensorPlan, PackWork, Span, TensorWork } from '@lowbit-kv/core';
import { PAGE_TOKENS } from '../attend/structs.js';
import type { Launch } from '../driver/launch.js';
import type { Stream } from '../driver/stream.js';
import type { PackInstance } from '../instances.js';
import type { TensorMemory } from '../memory/tensor-memory.js';
import { packTile } from '../pages/pack-tile.js';
import { type PageMover, pageMover, pagesOfBlock } from '../pages/page-layout.js';
import type { Runtime } from '../runtime.js';
import { PACK_WORDS, packWords, SPAN_WORDS } from './pack-words.js';
import { notMeasured, type PackContext, type PackedPages } from './packed-pages.js';

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
  /** That hold a block. */
  readonly #pages: number;
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
      .module('pack', instance.name)
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
    this.#pages = pagesOfBlock(this.#plan);
    const sizes = [memory.sizeOf('packed'), memory.sizeOf('statistics')];
    this.#sizes = [heads, headDim, this.#pages, ...sizes].join();
  }

  measure(context: PackContext, statistics: TensorWork['statistics']): void {
    if (this.#statistics === undefined) throw notMeasured(this.#plan);
    this.#statistics.measure(context, statistics);
  }

  pack({ launches, session, tables, step, input }: PackContext, packs: readonly PackWork[]): void {
    const job = this.#launch.parameters.view(0);
    job.setBigUint64(PACK_JOB.fields.inputRows, input.pointer, true);
    if (session !== undefined) {
      const most = CAPTURED_PACKS * session.options.rows * this.#pages;
      const words = most * (PACK_WORDS + CAPTURED_SPANS * SPAN_WORDS);
      const name = `packs of class ${this.#plan.class}, ${this.#sizes}`;
      const table = session.table(name, words, packs, () => this.#words(packs, most));
      this.#run(launches, table, most);
      return;
    }
    const most = Math.floor(MOST_PACKS / this.#pages);
    for (let first = 0; first < packs.length; first += most) {
      const some = packs.slice(first, first + most);
      const sizes = `${first} ${this.#sizes}`;
      const table = tables.of(step, packs, sizes, () => this.#words(some));
      this.#run(launches, table, packsByPage(some, this.#pages).length);
    }
  }

  #words(packs: readonly PackWork[], capacity?: number): Uint32Array {
    const some = packsByPage(packs, this.#pages);
    const pageBytes = this.#memory.sizeOf('packed') / this.#pages;
    return packWords(this.#memory, some, capacity ?? some.length, pageBytes);
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
    for (let number = 0; number < this.#pages * heads; number++) {
      const piece = page.subarray(number * bytes, (number + 1) * bytes);
      const own = Math.floor(number / heads);
      this.#mover.toBlock(piece, block, number % heads, 0, PAGE_TOKENS, own);
    }
    return block;
  }

  fromCanonical(block: Uint8Array): Uint8Array {
    const { heads } = this.#plan;
    const { bytes } = this.#mover.layout;
    const page = new Uint8Array(this.#pages * heads * bytes);
    for (let number = 0; number < this.#pages * heads; number++) {
      const piece = page.subarray(number * bytes, (number + 1) * bytes);
      const own = Math.floor(number / heads);
      this.#mover.toPiece(block, number % heads, piece, 0, PAGE_TOKENS, own);
    }
    return page;
  }
}

/** Packs of blocks as packs of their pages, each with the rows that are its own. */
function packsByPage(packs: readonly PackWork[], pages: number): readonly PackWork[] {
  if (pages === 1) return packs;
  return packs.flatMap((pack) =>
    Array.from({ length: pages }, (_, number): PackWork => {
      const begin = Math.max(pack.slot, number * PAGE_TOKENS);
      const end = Math.min(pack.slot + pack.count, (number + 1) * PAGE_TOKENS);
      return {
        ...pack,
        page: pack.page * pages + number,
        slot: begin - number * PAGE_TOKENS,
        count: Math.max(0, end - begin),
        sources: rowsOf(pack.sources, begin - pack.slot, end - pack.slot),
      };
    }).filter(({ count }) => count > 0),
  );
}

/** Rows `first` to `end - 1` of those that spans name one after another. */
function rowsOf(spans: readonly Span[], first: number, end: number): Span[] {
  let row = 0;
  return spans.flatMap((span) => {
    const begin = Math.max(first - row, 0);
    const count = Math.min(end - row, span.count) - begin;
    row += span.count;
    return count <= 0
      ? []
      : [{ ...span, position: span.position + begin, slot: span.slot + begin, count }];
  });
}
