/**
 * Pages of one tensor of one layer in device memory: packed pages, window pages and statistics pages, in one allocation.
 *
 * | kind | page |
 * | --- | --- |
 * | packed | [head][bytes of a piece]: codes and parameters of a head, as kernels/layout.cuh lays them out; or a canonical block |
 * | window | [head][slot][channel] f16 |
 * | statistics | as the planner says: [transform][head][channel] f16 |
 */
import {
  LowbitKvError,
  type PageCounts,
  type PageKind,
  type TensorPlan,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';
import { REST_ROWS } from '../attend/structs.js';
import { DeviceMemory, type DeviceRange } from '../driver/device-memory.js';
import type { Stream } from '../driver/stream.js';

/** Where pages of a kind begin. */
const SECTION_ALIGNMENT = 256;
const KINDS = ['packed', 'window', 'statistics'] as const satisfies readonly PageKind[];

interface Section {
  readonly first: number;
  readonly pageBytes: number;
  readonly pages: number;
}

export class TensorMemory {
  readonly plan: TensorPlan;
  readonly #sections: Readonly<Record<PageKind, Section>>;
  /** Undefined where there are no pages at all. */
  readonly #memory: DeviceMemory | undefined;

  private constructor(
    plan: TensorPlan,
    sections: Readonly<Record<PageKind, Section>>,
    memory: DeviceMemory | undefined,
  ) {
    this.plan = plan;
    this.#sections = sections;
    this.#memory = memory;
  }

  /**
   * All zeros, in order with the stream. `packedBytes`: of a packed page; 0 where the tensor stays f16. Throws
   * DEVICE_OUT_OF_MEMORY, and OPTION_INVALID for more pages than kernels can name.
   */
  static allocate(
    stream: Stream,
    plan: TensorPlan,
    counts: PageCounts,
    packedBytes: number,
  ): TensorMemory {
    checkCounts(counts, plan);
    const sizes = pageSizes(plan, packedBytes);
    let end = 0;
    const section = (kind: PageKind): Section => {
      const first = Math.ceil(end / SECTION_ALIGNMENT) * SECTION_ALIGNMENT;
      end = first + counts[kind] * sizes[kind];
      return { first, pageBytes: sizes[kind], pages: counts[kind] };
    };
    const sections = {
      packed: section('packed'),
      window: section('window'),
      statistics: section('statistics'),
    };
    if (end === 0) return new TensorMemory(plan, sections, undefined);
    const memory = DeviceMemory.allocate(stream.context, end);
    try {
      memory.all.fill(stream, 0);
    } catch (error) {
      memory.dispose();
      throw error;
    }
    return new TensorMemory(plan, sections, memory);
  }

  /** Bytes of the allocation. */
  get bytes(): number {
    return this.#memory?.bytes ?? 0;
  }

  /** Of all pages, without what aligns them. */
  get pageBytes(): number {
    return KINDS.reduce((sum, kind) => {
      const { pageBytes, pages } = this.#sections[kind];
      return sum + pageBytes * pages;
    }, 0);
  }

  sizeOf(kind: PageKind): number {
    return this.#sections[kind].pageBytes;
  }

  /** CUdeviceptr of page 0; 0n where there are no pages of the kind. */
  pointer(kind: PageKind): bigint {
    const { first, pages, pageBytes } = this.#sections[kind];
    if (this.#memory === undefined || pages * pageBytes === 0) return 0n;
    return this.#memory.range(first).pointer;
  }

  /** Throws OPTION_INVALID for a page that there is not. */
  page(kind: PageKind, page: number): DeviceRange {
    const { first, pageBytes, pages } = this.#sections[kind];
    if (this.#memory !== undefined && Number.isInteger(page) && page >= 0 && page < pages)
      return this.#memory.range(first + page * pageBytes, pageBytes);
    throw new LowbitKvError('OPTION_INVALID', {
      message: `there is no such ${kind} page`,
      value: page,
      valid: pages === 0 ? 'none' : `0 to ${pages - 1}`,
      next: 'Name pages that the store was created with.',
      where: { tensor: this.plan.tensor },
    });
  }

  /** Work that reads or writes the pages must have run. */
  dispose(): void {
    this.#memory?.dispose();
  }
}

function pageSizes(plan: TensorPlan, packedBytes: number): Record<PageKind, number> {
  return {
    packed: packedBytes,
    window: plan.windowPageBytes,
    statistics: plan.statisticsPageBytes,
  };
}

function checkCounts(counts: PageCounts, plan: TensorPlan): void {
  const limits: Record<PageKind, number> = {
    packed: Math.floor(REST_ROWS / (plan.layout?.blockTokens ?? 1)),
    window: REST_ROWS / WINDOW_PAGE_TOKENS,
    statistics: 2 ** 31 - 1,
  };
  for (const kind of KINDS) {
    if (counts[kind] <= limits[kind]) continue;
    throw new LowbitKvError('OPTION_INVALID', {
      message: `there are more ${kind} pages than kernels can name`,
      value: counts[kind],
      valid: `at most ${limits[kind]}`,
      next: 'Create the cache with fewer pages.',
      where: { tensor: plan.tensor },
    });
  }
}
