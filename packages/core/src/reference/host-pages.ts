/**
 * Pages in host memory, canonical layout: what every backend that computes on the CPU keeps.
 */
import type { PageCounts, PageKind, Span, TensorWork } from '../backend.js';
import { type TensorPlan, WINDOW_PAGE_TOKENS } from '../plan/plan.js';

/** The pages of one tensor of one layer. */
export class HostPages {
  readonly plan: TensorPlan;
  readonly #packed: Uint8Array;
  /** f16 bits `[page, heads, WINDOW_PAGE_TOKENS, headDim]`. */
  readonly #window: Uint16Array;
  /** f16 bits `[page, heads, headDim]`. */
  readonly #statistics: Uint16Array;

  constructor(plan: TensorPlan, counts: PageCounts) {
    this.plan = plan;
    this.#packed = new Uint8Array(counts.packed * (plan.layout?.pageBytes ?? 0));
    this.#window = new Uint16Array((counts.window * plan.windowPageBytes) / 2);
    this.#statistics = new Uint16Array((counts.statistics * plan.statisticsPageBytes) / 2);
  }

  get allocatedBytes(): number {
    return this.#packed.byteLength + this.#window.byteLength + this.#statistics.byteLength;
  }

  /** A view of one packed page. */
  packedPage(page: number): Uint8Array {
    const bytes = this.plan.layout?.pageBytes ?? 0;
    return this.#packed.subarray(page * bytes, (page + 1) * bytes);
  }

  /** A view of one statistics page: f16 bits `[heads, headDim]`. */
  statisticsPage(page: number): Uint16Array {
    const size = this.plan.statisticsPageBytes / 2;
    return this.#statistics.subarray(page * size, (page + 1) * size);
  }

  /** f16 bits `[count, headDim]` of one head of a window page. */
  windowHead(page: number, head: number, slot: number, count: number): Uint16Array {
    const { headDim, heads } = this.plan;
    const first = ((page * heads + head) * WINDOW_PAGE_TOKENS + slot) * headDim;
    return this.#window.subarray(first, first + count * headDim);
  }

  /** Executes the copies of a job. Whole pages are copied: slots past the visible ones are free to hold anything. */
  copy(copies: TensorWork['copies']): void {
    for (const { kind, from, to } of copies) {
      const [array, size] =
        kind === 'packed'
          ? [this.#packed, this.plan.layout?.pageBytes ?? 0]
          : [this.#window, this.plan.windowPageBytes / 2];
      array.copyWithin(to * size, from * size, (from + 1) * size);
    }
  }

  /** Executes the writes of a job: rows of `input` (f16 bits `[rows, heads, headDim]`) into window slots. */
  write(writes: TensorWork['writes'], input: Uint16Array): void {
    const { heads, headDim } = this.plan;
    for (const { row, page, slot, count } of writes) {
      for (let head = 0; head < heads; head++) {
        const target = this.windowHead(page, head, slot, count);
        for (let i = 0; i < count; i++) {
          const from = ((row + i) * heads + head) * headDim;
          target.set(input.subarray(from, from + headDim), i * headDim);
        }
      }
    }
  }

  /** f16 bits `[tokens, heads, headDim]` of f16 spans in order; a view of the input when they are one run of it. */
  gather(spans: readonly Span[], input: Uint16Array): Uint16Array {
    const { heads, headDim } = this.plan;
    const width = heads * headDim;
    const only = spans.length === 1 ? spans[0] : undefined;
    if (only?.source === 'input')
      return input.subarray(only.slot * width, (only.slot + only.count) * width);
    const tokens = new Uint16Array(spans.reduce((sum, span) => sum + span.count, 0) * width);
    let to = 0;
    for (const span of spans) {
      if (span.source === 'input') {
        tokens.set(input.subarray(span.slot * width, (span.slot + span.count) * width), to);
      } else {
        for (let head = 0; head < heads; head++) {
          const source = this.windowHead(span.page, head, span.slot, span.count);
          for (let i = 0; i < span.count; i++) {
            tokens.set(
              source.subarray(i * headDim, (i + 1) * headDim),
              to + i * width + head * headDim,
            );
          }
        }
      }
      to += span.count * width;
    }
    return tokens;
  }

  /** Bytes of one page of any kind. */
  pageBytes(kind: PageKind): number {
    if (kind === 'packed') return this.plan.layout?.pageBytes ?? 0;
    return kind === 'window' ? this.plan.windowPageBytes : this.plan.statisticsPageBytes;
  }

  read(kind: PageKind, pages: readonly number[]): Uint8Array {
    const size = this.pageBytes(kind);
    const bytes = new Uint8Array(pages.length * size);
    for (const [i, page] of pages.entries()) bytes.set(this.#bytesOf(kind, page, size), i * size);
    return bytes;
  }

  writePages(kind: PageKind, pages: readonly number[], bytes: Uint8Array): void {
    const size = this.pageBytes(kind);
    for (const [i, page] of pages.entries()) {
      this.#bytesOf(kind, page, size).set(bytes.subarray(i * size, (i + 1) * size));
    }
  }

  #bytesOf(kind: PageKind, page: number, size: number): Uint8Array {
    const array =
      kind === 'packed' ? this.#packed : kind === 'window' ? this.#window : this.#statistics;
    return new Uint8Array(array.buffer, array.byteOffset + page * size, size);
  }
}
