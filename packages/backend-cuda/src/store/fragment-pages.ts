/**
 * Packed pages in the order in which tensor cores take them (kernels/layout.cuh), as the host sees them: canonical bytes, and packs
 * of blocks by their pages.
 */
import type { PackedTensorPlan, PackWork, Span, TensorWork } from '@lowbit-kv/core';
import { PAGE_TOKENS } from '../attend/structs.js';
import { type PageMover, pageMover, pagesOfBlock } from '../pages/page-layout.js';
import { notMeasured, type PackContext, type PackedPages } from './packed-pages.js';

export class FragmentPages implements PackedPages {
  readonly #plan: PackedTensorPlan;
  readonly #mover: PageMover;
  readonly #statistics: Pick<PackedPages, 'measure'> | undefined;
  /** That hold a block. */
  readonly pagesOfBlock: number;

  /** `statistics` measures sequences, where the plan does. */
  constructor(plan: PackedTensorPlan, statistics: Pick<PackedPages, 'measure'> | undefined) {
    this.#plan = plan;
    this.#mover = pageMover(plan);
    this.#statistics = statistics;
    this.pagesOfBlock = pagesOfBlock(plan);
  }

  /** Of a page of one head. */
  get headBytes(): number {
    return this.#mover.layout.bytes;
  }

  measure(context: PackContext, statistics: TensorWork['statistics']): void {
    if (this.#statistics === undefined) throw notMeasured(this.#plan);
    this.#statistics.measure(context, statistics);
  }

  /** Packs of blocks as packs of their pages, each with the rows that are its own. */
  packsByPage(packs: readonly PackWork[]): readonly PackWork[] {
    return packsByPage(packs, this.pagesOfBlock);
  }

  toCanonical(page: Uint8Array): Uint8Array {
    const { layout, heads } = this.#plan;
    const { bytes } = this.#mover.layout;
    const block = new Uint8Array(layout.pageBytes);
    for (let number = 0; number < this.pagesOfBlock * heads; number++) {
      const piece = page.subarray(number * bytes, (number + 1) * bytes);
      const own = Math.floor(number / heads);
      this.#mover.toBlock(piece, block, number % heads, 0, PAGE_TOKENS, own);
    }
    return block;
  }

  fromCanonical(block: Uint8Array): Uint8Array {
    const { heads } = this.#plan;
    const { bytes } = this.#mover.layout;
    const page = new Uint8Array(this.pagesOfBlock * heads * bytes);
    for (let number = 0; number < this.pagesOfBlock * heads; number++) {
      const piece = page.subarray(number * bytes, (number + 1) * bytes);
      const own = Math.floor(number / heads);
      this.#mover.toPiece(block, number % heads, piece, 0, PAGE_TOKENS, own);
    }
    return page;
  }
}

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
