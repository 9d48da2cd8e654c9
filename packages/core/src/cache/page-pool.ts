/**
 * Page numbers of one page class: free lists and reference counts. Knows nothing about what pages hold.
 */
import type { PageCounts, PageKind } from '../backend.js';

const KINDS: readonly PageKind[] = ['packed', 'window', 'statistics'];

export class PagePool {
  readonly counts: PageCounts;
  readonly #free: Record<PageKind, number[]>;
  readonly #references: Record<PageKind, Uint32Array>;

  constructor(counts: PageCounts) {
    this.counts = counts;
    this.#free = { packed: [], window: [], statistics: [] };
    this.#references = {
      packed: new Uint32Array(counts.packed),
      window: new Uint32Array(counts.window),
      statistics: new Uint32Array(counts.statistics),
    };
    for (const kind of KINDS)
      for (let page = counts[kind] - 1; page >= 0; page--) this.#free[kind].push(page);
  }

  /** A free page with one reference, or -1. */
  allocate(kind: PageKind): number {
    const page = this.#free[kind].pop();
    if (page === undefined) return -1;
    this.#references[kind][page] = 1;
    return page;
  }

  retain(kind: PageKind, page: number): void {
    this.#references[kind][page] = this.references(kind, page) + 1;
  }

  release(kind: PageKind, page: number): void {
    const left = this.references(kind, page) - 1;
    this.#references[kind][page] = left;
    if (left === 0) this.#free[kind].push(page);
  }

  references(kind: PageKind, page: number): number {
    return this.#references[kind][page] as number;
  }

  free(kind: PageKind): number {
    return this.#free[kind].length;
  }

  /** Pages with at least one reference. */
  used(kind: PageKind): number {
    return this.counts[kind] - this.#free[kind].length;
  }
}

/** A page held by somebody. */
export interface HeldPage {
  readonly kind: PageKind;
  readonly page: number;
}

/**
 * Pages taken for one step. Taking never throws: what is missing is counted, so that the caller can say how much the
 * step needs before anything runs.
 */
export class Reservation {
  readonly taken: HeldPage[] = [];
  readonly missing: Record<PageKind, number> = { packed: 0, window: 0, statistics: 0 };
  readonly #pool: PagePool;

  constructor(pool: PagePool) {
    this.#pool = pool;
  }

  take(kind: PageKind): number {
    const page = this.#pool.allocate(kind);
    if (page < 0) this.missing[kind]++;
    else this.taken.push({ kind, page });
    return page;
  }

  isShared(kind: PageKind, page: number): boolean {
    return this.#pool.references(kind, page) > 1;
  }

  undo(): void {
    for (const { kind, page } of this.taken) this.#pool.release(kind, page);
    this.taken.length = 0;
  }
}
