/**
 * The device memory of one tensor of one layer: numbers that shaders read, then statistics pages, window pages and
 * packed pages, in one buffer.
 */
import type { PageCounts, PageKind, TensorPlan } from '@lowbit-kv/core';

export class TensorMemory {
  readonly plan: TensorPlan;
  readonly buffer: GPUBuffer;
  /** Bytes of the pages; an empty memory still needs a buffer. */
  readonly pageBytes: number;
  readonly #firstByte: Readonly<Record<PageKind, number>>;
  readonly #bytes: Readonly<Record<PageKind, number>>;

  /** `numbers`: a multiple of 64 words. */
  constructor(device: GPUDevice, plan: TensorPlan, counts: PageCounts, numbers: Uint32Array) {
    this.plan = plan;
    const bytes = { ...pageSizes(plan) };
    this.#bytes = bytes;
    const statistics = numbers.byteLength;
    const window = statistics + counts.statistics * bytes.statistics;
    const packed = window + counts.window * bytes.window;
    this.#firstByte = { statistics, window, packed };
    const end = packed + counts.packed * bytes.packed;
    this.pageBytes = end - statistics;
    this.buffer = device.createBuffer({
      label: `lowbit-kv ${plan.tensor} pages`,
      size: Math.max(16, end),
      usage: 0x8c, // STORAGE | COPY_SRC | COPY_DST
    });
    device.queue.writeBuffer(this.buffer, 0, numbers as Uint32Array<ArrayBuffer>);
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
