/**
 * Attention of one layer over pages in fragment order: kernels for one query token, and for several.
 */
import type { LayerPlan, PackedTensorPlan } from '@lowbit-kv/core';
import { queriesOfBlock } from '../choose-instance.js';
import type { Stream } from '../driver/stream.js';
import type { KernelInstance, RowsInstance } from '../instances.js';
import type { LayerMemory } from '../memory/store-memory.js';
import { pageLayout, pageShapeOf } from '../pages/page-layout.js';
import type { AttentionBuffers, AttentionGrid } from './attention-job.js';
import {
  type AttentionLaunch,
  type BuiltKernel,
  optionsOf,
  PreparedAttention,
} from './prepared-attention.js';
import { rowsSharedBytes } from './rows-shared-bytes.js';
import { BARRIER_BYTES } from './structs.js';
import type { QueryBlocks } from './work-list.js';

export interface LayerAttentionOptions extends BuiltKernel<KernelInstance> {
  readonly plan: LayerPlan;
  readonly memory: LayerMemory;
  /** For several query tokens of a sequence at once, or more query heads than the instance has, fewer rows before more. Default: none. */
  readonly rows?: readonly BuiltKernel<RowsInstance>[];
}

/** By kernels that were built for the plan. */
export class LayerAttention implements AttentionLaunch {
  readonly slots: number;
  readonly blocks: readonly QueryBlocks[];
  readonly #single: PreparedAttention;
  /** As `blocks`. */
  readonly #several: readonly PreparedAttention[];

  /** Throws KERNEL_IMAGE_INVALID when the image lacks a kernel, PLAN_REFUSED when the card has too little shared memory. */
  constructor({ plan, memory, rows = [], ...single }: LayerAttentionOptions) {
    const { geometry } = plan;
    const group = geometry.queryHeads / geometry.kvHeads;
    const headBlocks = Math.ceil(group / single.instance.blockHeads);
    const pieces = pieceBytes(plan);
    this.#single = new PreparedAttention({
      ...optionsOf(single),
      ...{ plan, memory },
      headBlocks,
      sharedBytes: single.warps * (pieces + BARRIER_BYTES),
      canOverlap: true,
    });
    this.slots = this.#single.slots;
    this.#several = rows.map(
      (built) =>
        new PreparedAttention({
          ...optionsOf(built),
          ...{ plan, memory },
          headBlocks: 1,
          sharedBytes: rowsSharedBytes(built.instance, built.warps, pieces),
          canOverlap: false,
        }),
    );
    this.blocks = rows.map(({ instance }, i) => ({
      queries: queriesOfBlock(instance, geometry),
      room: Math.ceil(instance.rows / group),
      slots: (this.#several[i] as PreparedAttention).slots,
      areForOne: headBlocks > 1,
    }));
  }

  run(stream: Stream, buffers: AttentionBuffers, grid: AttentionGrid = 'items'): void {
    const { blockKind } = buffers.tables.list;
    const kernel = blockKind === undefined ? this.#single : this.#several[blockKind];
    (kernel as PreparedAttention).run(stream, buffers, grid);
  }
}

/** Of the keys and the values of a page of one head. */
function pieceBytes({ key, value }: LayerPlan): number {
  const plans = [key, value] as readonly PackedTensorPlan[];
  return plans.reduce((sum, plan) => sum + pageLayout(pageShapeOf(plan)).bytes, 0);
}
