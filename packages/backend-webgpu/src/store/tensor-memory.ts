/**
 * The device memory of one tensor of one layer: statistics pages, window pages, packed pages, in one buffer.
 */
import type { PageCounts, PageKind, TensorPlan } from '@lowbit-kv/core';

export class TensorMemory {
  readonly plan: TensorPlan;
  readonly buffer: GPUBuffer;
  /** Bytes of the pages; an empty memory still needs a buffer. */
  readonly pageBytes: number;
  readonly #firstByte: Readonly<Record<PageKind, number>>;
  readonly #bytes: Readonly<Record<PageKind, number>>;

  constructor(device: GPUDevice, plan: TensorPlan, counts: PageCounts) {
    this.plan = plan;
    const bytes = { ...pageSizes(plan) };
    this.#bytes = bytes;
    const window = counts.statistics * bytes.statistics;
    const packed = window + counts.window * bytes.window;
    this.#firstByte = { statistics: 0, window, packed };
    this.pageBytes = packed + counts.packed * bytes.packed;
    this.buffer = device.createBuffer({
      label: `lowbit-kv ${plan.tensor} pages`,
      size: Math.max(16, this.pageBytes),
      usage: 0x8c, // STORAGE | COPY_SRC | COPY_DST
    });
  }

  /** First byte of a page. */
  byteOf(kind: PageKind, page: number): number {
    return this.#firstByte[kind] + page * this.#bytes[kind];
  }

  wordOf(kind: PageKind, page: number): number {
    return this.byteOf(kind, page) / 4;
  }

  /** First 16-bit half of a page. */
  halfOf(kind: PageKind, page: number): number {
    return this.byteOf(kind, page) / 2;
  }

  sizeOf(kind: PageKind): number {
    return this.#bytes[kind];
  }
}

export function pageSizes(plan: TensorPlan): Record<PageKind, number> {
  return {
    packed: plan.layout?.pageBytes ?? 0,
    window: plan.windowPageBytes,
    statistics: plan.statisticsPageBytes,
  };
}
