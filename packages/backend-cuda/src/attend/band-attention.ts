/**
 * Attention of one layer over canonical pages whose outliers are told apart by bands: one launch of kernels/bands.cuh.
 */
import type { LayerPlan, PackedTensorPlan } from '@lowbit-kv/core';
import type { Launch } from '../driver/launch.js';
import type { Module } from '../driver/module.js';
import type { Stream } from '../driver/stream.js';
import type { BandInstance } from '../instances.js';
import type { LayerMemory } from '../memory/store-memory.js';
import { type AttentionBuffers, type AttentionGrid, AttentionJob } from './attention-job.js';
import { type AttentionLaunch, residentBlocks } from './layer-attention.js';
import { BAND_JOB_BYTES, BAND_TENSOR, DECODE_JOB, PAGE_TOKENS } from './structs.js';
import { slotsOf } from './work-list.js';

const LANES = 32;
/** Of a token: f16 parameters of its bands. */
const PARAMETERS = 5;
/** Of a tile of corrections, and the lines of a token: kernels/band-pages.cuh. */
const TILE_TOKENS = 16;
const LINE_BYTES = 64;
/** Outliers of a page that there is room for, by channel. */
const MOST_OUTLIERS = 96;

/** Most outliers that a page of the kernels has room for. */
export function mostOutliers(headDim: number): number {
  return MOST_OUTLIERS * headDim;
}

/** Of the barriers of all warps, so that tiles behind them lie at its multiples. */
const BARRIERS_BYTES = 256;

/** Shared memory of a block: a page of each warp, barriers, a tile of each. */
export function bandSharedBytes(headDim: number, warps: number): number {
  const codes = headDim / 2;
  const ends = (2 * headDim) / 64;
  const page = PAGE_TOKENS * (codes + 2 * PARAMETERS + ends) + mostOutliers(headDim);
  return warps * (page + TILE_TOKENS * (2 * headDim + LINE_BYTES)) + BARRIERS_BYTES;
}

export interface BandAttentionOptions {
  readonly module: Module;
  readonly instance: BandInstance;
  /** Of a block, as the image has them. */
  readonly warps: number;
  readonly plan: LayerPlan;
  /** Packed pages are canonical. */
  readonly memory: LayerMemory;
}

export class BandAttention implements AttentionLaunch {
  readonly slots: number;
  readonly #kvHeads: number;
  readonly #headBlocks: number;
  readonly #launch: Launch;
  readonly #job: AttentionJob;

  /** Throws KERNEL_IMAGE_INVALID when the image lacks the kernel, PLAN_REFUSED when the card has too little shared memory. */
  constructor({ module, instance, warps, plan, memory }: BandAttentionOptions) {
    const { queryHeads, kvHeads } = plan.geometry;
    const kernel = module.kernel(instance.name, [{ bytes: BAND_JOB_BYTES }]);
    const threads = LANES * warps;
    const sharedBytes = bandSharedBytes(instance.headDim, warps);
    this.#kvHeads = kvHeads;
    this.#headBlocks = Math.ceil(queryHeads / kvHeads / instance.blockHeads);
    const blocks = kvHeads * this.#headBlocks;
    this.#launch = kernel.prepare({
      grid: [1, kvHeads, this.#headBlocks],
      block: [threads],
      sharedBytes,
    });
    const view = this.#launch.parameters.view(0);
    this.#job = new AttentionJob(view, plan, memory, blocks);
    writeTensor(view, DECODE_JOB.bytes, plan.key as PackedTensorPlan);
    writeTensor(view, DECODE_JOB.bytes + BAND_TENSOR.bytes, plan.value as PackedTensorPlan);
    this.slots = slotsOf(residentBlocks(kernel, threads, sharedBytes), blocks);
  }

  run(stream: Stream, buffers: AttentionBuffers, grid: AttentionGrid = 'items'): void {
    const items = this.#job.fill(buffers, grid);
    if (items === 0) return;
    this.#launch.setGrid(items, this.#kvHeads, this.#headBlocks);
    this.#launch.run(stream);
  }
}

function writeTensor(view: DataView, at: number, { layout, calibration }: PackedTensorPlan): void {
  const { headBytes, ...edges } = BAND_TENSOR.fields;
  view.setInt32(at + headBytes, layout.headBytes, true);
  const thresholds = calibration?.thresholds as Record<keyof typeof edges, number>;
  for (const [edge, offset] of Object.entries(edges) as [keyof typeof edges, number][])
    view.setFloat32(at + offset, thresholds[edge], true);
}
