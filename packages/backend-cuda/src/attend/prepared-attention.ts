/**
 * One launch of attention, its job written once but for what differs from step to step.
 */
import type { LayerPlan } from '@lowbit-kv/core';
import type { Kernel } from '../driver/kernel.js';
import type { Launch } from '../driver/launch.js';
import type { Module } from '../driver/module.js';
import type { Stream } from '../driver/stream.js';
import type { LayerMemory } from '../memory/store-memory.js';
import { type AttentionBuffers, type AttentionGrid, AttentionJob } from './attention-job.js';
import { DECODE_JOB } from './structs.js';
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

export interface PreparedOptions {
  readonly module: Module;
  /** Of the kernel. */
  readonly name: string;
  readonly threads: number;
  readonly plan: LayerPlan;
  readonly memory: LayerMemory;
  /** Blocks that share the query heads of a kv head: the grid in z. */
  readonly headBlocks: number;
  /** Whether each of them counts its own arrivals; default true. */
  readonly countsHeadBlocks?: boolean;
  readonly sharedBytes: number;
  /** The kernel waits for the one before it itself, before it reads what that one writes; default false. */
  readonly canOverlap?: boolean;
  /** Of the kernel; the first one is, or begins with, a DecodeJob. Default: that alone. */
  readonly parameters?: readonly { readonly bytes: number }[];
}

export function optionsOf({
  module,
  instance,
  warps,
}: BuiltKernel<{ readonly name: string }>): Pick<PreparedOptions, 'module' | 'name' | 'threads'> {
  return { module, name: instance.name, threads: LANES * warps };
}

export class PreparedAttention implements AttentionLaunch {
  readonly slots: number;
  readonly #grid: readonly [kvHeads: number, headBlocks: number];
  readonly #launch: Launch;
  readonly #job: AttentionJob;

  /** Throws KERNEL_IMAGE_INVALID when the image lacks the kernel, PLAN_REFUSED when the card has too little shared memory. */
  constructor(options: PreparedOptions) {
    const { module, name, threads, plan, memory, headBlocks, sharedBytes } = options;
    const { canOverlap = false, countsHeadBlocks = true } = options;
    const kernel = module.kernel(name, options.parameters ?? [{ bytes: DECODE_JOB.bytes }]);
    const { kvHeads } = plan.geometry;
    this.#grid = [kvHeads, headBlocks];
    this.#launch = kernel.prepare({
      grid: [1, ...this.#grid],
      block: [threads],
      sharedBytes,
      overlapsPrevious: canOverlap && kernel.canOverlap,
    });
    const counted = countsHeadBlocks ? kvHeads * headBlocks : kvHeads;
    this.#job = new AttentionJob(this.parameter(0), plan, memory, counted);
    this.slots = slotsOf(residentBlocks(kernel, threads, sharedBytes), kvHeads * headBlocks);
  }

  parameter(number: number): DataView {
    return this.#launch.parameters.view(number);
  }

  run(stream: Stream, buffers: AttentionBuffers, grid: AttentionGrid = 'items'): void {
    const items = this.#job.fill(buffers, grid);
    if (items === 0) return;
    this.#launch.setGrid(items, ...this.#grid);
    this.#launch.run(stream);
  }
}

/** Blocks that the card holds at once. */
function residentBlocks(kernel: Kernel, threads: number, sharedBytes: number): number {
  const { multiprocessors } = kernel.context.device.properties.limits;
  return multiprocessors * kernel.blocksPerMultiprocessor(threads, sharedBytes);
}
