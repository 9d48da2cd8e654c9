/**
 * Attention of one layer over any plan, in canonical pages: what no kernel instance was built for.
 */
import type { LayerPlan } from '@lowbit-kv/core';
import {
  type AttentionBuffers,
  type AttentionGrid,
  AttentionJob,
} from '../attend/attention-job.js';
import { type AttentionLaunch, residentBlocks } from '../attend/layer-attention.js';
import { DECODE_JOB } from '../attend/structs.js';
import { slotsOf } from '../attend/work-list.js';
import type { Launch } from '../driver/launch.js';
import type { Module } from '../driver/module.js';
import type { Stream } from '../driver/stream.js';
import type { LayerMemory } from '../memory/store-memory.js';
import { ATTEND_THREADS, attentionNumbers } from './attention-numbers.js';
import type { DeviceTensor } from './device-tensor.js';
import { GENERAL_ATTEND_KERNEL, GENERAL_ATTENTION } from './structs.js';

export interface GeneralAttentionOptions {
  /** The part of an image with the kernel. */
  readonly module: Module;
  readonly plan: LayerPlan;
  /** Packed pages are canonical: `layout.pageBytes` each. Work lists count their tokens by `pageTokens`. */
  readonly memory: LayerMemory;
  /** Made with the rotary embedding of the geometry. */
  readonly key: DeviceTensor;
  readonly value: DeviceTensor;
}

export class GeneralAttention implements AttentionLaunch {
  readonly slots: number;
  readonly #kvHeads: number;
  readonly #headBlocks: number;
  readonly #launch: Launch;
  readonly #job: AttentionJob;

  /** Throws KERNEL_IMAGE_INVALID when the image lacks the kernel, PLAN_REFUSED when the card has too little shared memory. */
  constructor({ module, plan, memory, key, value }: GeneralAttentionOptions) {
    const numbers = attentionNumbers(plan);
    const { headBlocks, sharedBytes } = numbers;
    const { kvHeads } = plan.geometry;
    const parameters = [{ bytes: DECODE_JOB.bytes }, { bytes: GENERAL_ATTENTION.bytes }];
    const kernel = module.kernel(GENERAL_ATTEND_KERNEL, parameters);
    this.#kvHeads = kvHeads;
    this.#headBlocks = headBlocks;
    this.#launch = kernel.prepare({
      grid: [1, kvHeads, headBlocks],
      block: [ATTEND_THREADS],
      sharedBytes,
    });
    this.#job = new AttentionJob(this.#launch.parameters.view(0), plan, memory);
    numbers.write(this.#launch.parameters.view(1), key, value);
    const resident = residentBlocks(kernel, ATTEND_THREADS, sharedBytes);
    this.slots = slotsOf(resident, kvHeads * headBlocks);
  }

  run(stream: Stream, buffers: AttentionBuffers, grid: AttentionGrid = 'items'): void {
    const items = this.#job.fill(buffers, grid);
    if (items === 0) return;
    this.#launch.setGrid(items, this.#kvHeads, this.#headBlocks);
    this.#launch.run(stream);
  }
}
