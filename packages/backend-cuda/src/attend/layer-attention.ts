/**
 * Attention of one layer: one launch, its job written once but for what differs from step to step.
 */
import type { LayerPlan, PackedTensorPlan } from '@lowbit-kv/core';
import type { Kernel } from '../driver/kernel.js';
import type { Launch } from '../driver/launch.js';
import type { Module } from '../driver/module.js';
import type { Stream } from '../driver/stream.js';
import type { KernelInstance } from '../instances.js';
import type { LayerMemory } from '../memory/store-memory.js';
import { pageLayout, pageShapeOf } from '../pages/page-layout.js';
import { type AttentionBuffers, type AttentionGrid, AttentionJob } from './attention-job.js';
import { BARRIER_BYTES, DECODE_JOB } from './structs.js';
import { slotsOf } from './work-list.js';

const LANES = 32;

/** Attention of a layer, by whichever kernel runs its plan. */
export interface AttentionLaunch {
  /** Items that run at once, for the work list. */
  readonly slots: number;
  /** Enqueues attention over the tables as they are. Nothing is launched without query tokens, unless for a graph. */
  run(stream: Stream, buffers: AttentionBuffers, grid?: AttentionGrid): void;
}

export interface LayerAttentionOptions {
  readonly module: Module;
  readonly instance: KernelInstance;
  /** Of a block, as the image has them. */
  readonly warps: number;
  readonly plan: LayerPlan;
  readonly memory: LayerMemory;
}

/** By a kernel that was built for the plan. */
export class LayerAttention implements AttentionLaunch {
  readonly slots: number;
  readonly #kvHeads: number;
  /** Blocks that share the query heads of a kv head. */
  readonly #headBlocks: number;
  readonly #launch: Launch;
  readonly #job: AttentionJob;

  /** Throws KERNEL_IMAGE_INVALID when the image lacks the kernel, PLAN_REFUSED when the card has too little shared memory. */
  constructor(options: LayerAttentionOptions) {
    const { module, instance, warps, plan, memory } = options;
    const { queryHeads, kvHeads } = plan.geometry;
    const { key, value } = plan as {
      readonly key: PackedTensorPlan;
      readonly value: PackedTensorPlan;
    };
    const pageBytes = pageLayout(pageShapeOf(key)).bytes + pageLayout(pageShapeOf(value)).bytes;
    const kernel = module.kernel(instance.name, [{ bytes: DECODE_JOB.bytes }]);
    const threads = LANES * warps;
    const sharedBytes = warps * (pageBytes + BARRIER_BYTES);
    this.#kvHeads = kvHeads;
    this.#headBlocks = Math.ceil(queryHeads / kvHeads / instance.blockHeads);
    const blocks = kvHeads * this.#headBlocks;
    this.#launch = kernel.prepare({
      grid: [1, kvHeads, this.#headBlocks],
      block: [threads],
      sharedBytes,
      overlapsPrevious: kernel.canOverlap,
    });
    this.#job = new AttentionJob(this.#launch.parameters.view(0), plan, memory, blocks);
    this.slots = slotsOf(residentBlocks(kernel, threads, sharedBytes), blocks);
  }

  run(stream: Stream, buffers: AttentionBuffers, grid: AttentionGrid = 'items'): void {
    const items = this.#job.fill(buffers, grid);
    if (items === 0) return;
    this.#launch.setGrid(items, this.#kvHeads, this.#headBlocks);
    this.#launch.run(stream);
  }
}

/** Blocks that the card holds at once. */
export function residentBlocks(kernel: Kernel, threads: number, sharedBytes: number): number {
  const { multiprocessors } = kernel.context.device.properties.limits;
  return multiprocessors * kernel.blocksPerMultiprocessor(threads, sharedBytes);
}
