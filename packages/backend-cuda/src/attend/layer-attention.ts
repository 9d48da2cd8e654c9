/**
 * Attention of one layer: one launch, its job written once but for what differs from step to step.
 */
import type { LayerPlan, PackedTensorPlan } from '@lowbit-kv/core';
import { queriesOfBlock } from '../choose-instance.js';
import type { Kernel } from '../driver/kernel.js';
import type { Launch } from '../driver/launch.js';
import type { Module } from '../driver/module.js';
import type { Stream } from '../driver/stream.js';
import type { KernelInstance, RowsInstance } from '../instances.js';
import type { LayerMemory } from '../memory/store-memory.js';
import { pageLayout, pageShapeOf } from '../pages/page-layout.js';
import { type AttentionBuffers, type AttentionGrid, AttentionJob } from './attention-job.js';
import { rowsSharedBytes } from './rows-shared-bytes.js';
import { BARRIER_BYTES, DECODE_JOB } from './structs.js';
import { type QueryBlocks, slotsOf } from './work-list.js';

const LANES = 32;

/** Attention of a layer, by whichever kernel runs its plan. */
export interface AttentionLaunch {
  /** Items that run at once, for the work list. */
  readonly slots: number;
  /** How several query tokens of a sequence are met at once, fewer before more; undefined where they are not. */
  readonly blocks?: readonly QueryBlocks[];
  /** Enqueues attention over the tables as they are. Nothing is launched without query tokens, unless for a graph. */
  run(stream: Stream, buffers: AttentionBuffers, grid?: AttentionGrid): void;
}

/** A kernel, and warps of its blocks as the image has them. */
export interface BuiltKernel<Instance> {
  readonly module: Module;
  readonly instance: Instance;
  readonly warps: number;
}

export interface LayerAttentionOptions extends BuiltKernel<KernelInstance> {
  readonly plan: LayerPlan;
  readonly memory: LayerMemory;
  /** For several query tokens of a sequence at once, fewer before more. Default: none. */
  readonly rows?: readonly BuiltKernel<RowsInstance>[];
}

/** By kernels that were built for the plan. */
export class LayerAttention implements AttentionLaunch {
  readonly slots: number;
  readonly blocks: readonly QueryBlocks[];
  readonly #single: PreparedKernel;
  /** As `blocks`. */
  readonly #several: readonly PreparedKernel[];

  /** Throws KERNEL_IMAGE_INVALID when the image lacks a kernel, PLAN_REFUSED when the card has too little shared memory. */
  constructor({ plan, memory, rows = [], ...single }: LayerAttentionOptions) {
    const { geometry } = plan;
    const group = geometry.queryHeads / geometry.kvHeads;
    const pieces = pieceBytes(plan);
    this.#single = new PreparedKernel(plan, memory, single, {
      headBlocks: Math.ceil(group / single.instance.blockHeads),
      sharedBytes: single.warps * (pieces + BARRIER_BYTES),
      canOverlap: true,
    });
    this.slots = this.#single.slots;
    this.#several = rows.map(
      (built) =>
        new PreparedKernel(plan, memory, built, {
          headBlocks: 1,
          sharedBytes: rowsSharedBytes(built.instance, built.warps, pieces),
          canOverlap: false,
        }),
    );
    this.blocks = rows.map(({ instance }, i) => ({
      queries: queriesOfBlock(instance, geometry),
      room: Math.ceil(instance.rows / group),
      slots: (this.#several[i] as PreparedKernel).slots,
    }));
  }

  run(stream: Stream, buffers: AttentionBuffers, grid: AttentionGrid = 'items'): void {
    const { blockKind } = buffers.tables.list;
    const kernel = blockKind === undefined ? this.#single : this.#several[blockKind];
    (kernel as PreparedKernel).run(stream, buffers, grid);
  }
}

interface PreparedOptions {
  readonly headBlocks: number;
  readonly sharedBytes: number;
  readonly canOverlap: boolean;
}

/** A launch with its job. */
class PreparedKernel {
  readonly slots: number;
  readonly #grid: readonly [kvHeads: number, headBlocks: number];
  readonly #launch: Launch;
  readonly #job: AttentionJob;

  /**
   * `headBlocks`: blocks that share the query heads of a kv head. `canOverlap`: the kernel waits for the one before it itself, before it
   * reads what that one writes.
   */
  constructor(
    plan: LayerPlan,
    memory: LayerMemory,
    { module, instance, warps }: BuiltKernel<{ readonly name: string }>,
    { headBlocks, sharedBytes, canOverlap }: PreparedOptions,
  ) {
    const kernel = module.kernel(instance.name, [{ bytes: DECODE_JOB.bytes }]);
    const { kvHeads } = plan.geometry;
    const threads = LANES * warps;
    const blocks = kvHeads * headBlocks;
    this.#grid = [kvHeads, headBlocks];
    this.#launch = kernel.prepare({
      grid: [1, ...this.#grid],
      block: [threads],
      sharedBytes,
      overlapsPrevious: canOverlap && kernel.canOverlap,
    });
    this.#job = new AttentionJob(this.#launch.parameters.view(0), plan, memory, blocks);
    this.slots = slotsOf(residentBlocks(kernel, threads, sharedBytes), blocks);
  }

  run(stream: Stream, buffers: AttentionBuffers, grid: AttentionGrid): void {
    const items = this.#job.fill(buffers, grid);
    if (items === 0) return;
    this.#launch.setGrid(items, ...this.#grid);
    this.#launch.run(stream);
  }
}

/** Of the keys and the values of a page of one head. */
function pieceBytes({ key, value }: LayerPlan): number {
  const plans = [key, value] as readonly PackedTensorPlan[];
  return plans.reduce((sum, plan) => sum + pageLayout(pageShapeOf(plan)).bytes, 0);
}

/** Blocks that the card holds at once. */
export function residentBlocks(kernel: Kernel, threads: number, sharedBytes: number): number {
  const { multiprocessors } = kernel.context.device.properties.limits;
  return multiprocessors * kernel.blocksPerMultiprocessor(threads, sharedBytes);
}
