/**
 * Attention of one layer over pages whose outliers are told apart by bands: one launch of kernels/bands.cuh.
 */
import type { LayerPlan, PackedTensorPlan } from '@lowbit-kv/core';
import type { BandInstance } from '../instances.js';
import type { LayerMemory } from '../memory/store-memory.js';
import {
  type AttentionLaunch,
  type BuiltKernel,
  optionsOf,
  PreparedAttention,
} from './prepared-attention.js';
import { BAND_JOB_BYTES, BAND_TENSOR, DECODE_JOB, PAGE_TOKENS } from './structs.js';

/** Of a token: f16 parameters of its bands. */
const PARAMETERS = 5;
/** Of a tile of corrections, in blocks, and how far lines lie apart from those of later tokens: kernels/band-pages.cuh. */
const TILE_TOKENS = 16;
const BLOCK_ELEMENTS = 1024;
const LINES_OF_TOKEN = 8;
const LINES_APART = 64;
/** Outliers of a page that there is room for, by channel. */
const MOST_OUTLIERS = 96;
/** Behind the outliers of a page: read, and left out. */
const READ_BEHIND = 256;

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
  const page = PAGE_TOKENS * (codes + 2 * PARAMETERS + ends) + mostOutliers(headDim) + READ_BEHIND;
  return warps * (page + tileBytes(headDim)) + BARRIERS_BYTES;
}

function tileBytes(headDim: number): number {
  const lines = 4 * LINES_OF_TOKEN * (BLOCK_ELEMENTS / headDim);
  const block = 2 * BLOCK_ELEMENTS + 2 * lines + LINES_APART;
  return ((TILE_TOKENS * headDim) / BLOCK_ELEMENTS) * Math.ceil(block / 256) * 256;
}

export interface BandAttentionOptions extends BuiltKernel<BandInstance> {
  readonly plan: LayerPlan;
  /** Packed pages have words for outliers: kernels/outlier-words.cuh. */
  readonly memory: LayerMemory;
}

/** Throws KERNEL_IMAGE_INVALID when the image lacks the kernel, PLAN_REFUSED when the card has too little shared memory. */
export function bandAttention({ plan, memory, ...built }: BandAttentionOptions): AttentionLaunch {
  const { queryHeads, kvHeads } = plan.geometry;
  const { headDim, blockHeads } = built.instance;
  const prepared = new PreparedAttention({
    ...optionsOf(built),
    ...{ plan, memory },
    headBlocks: Math.ceil(queryHeads / kvHeads / blockHeads),
    sharedBytes: bandSharedBytes(headDim, built.warps),
    parameters: [{ bytes: BAND_JOB_BYTES }],
  });
  const job = prepared.parameter(0);
  writeTensor(job, DECODE_JOB.bytes, plan.key as PackedTensorPlan);
  writeTensor(job, DECODE_JOB.bytes + BAND_TENSOR.bytes, plan.value as PackedTensorPlan);
  return prepared;
}

function writeTensor(view: DataView, at: number, { layout, calibration }: PackedTensorPlan): void {
  const { headBytes, ...edges } = BAND_TENSOR.fields;
  view.setInt32(at + headBytes, layout.headBytes, true);
  const thresholds = calibration?.thresholds as Record<keyof typeof edges, number>;
  for (const [edge, offset] of Object.entries(edges) as [keyof typeof edges, number][])
    view.setFloat32(at + offset, thresholds[edge], true);
}
