/**
 * Attention of one layer over any plan, in canonical pages: what no kernel instance was built for.
 */
import type { LayerPlan } from '@lowbit-kv/core';
import { type AttentionLaunch, PreparedAttention } from '../attend/prepared-attention.js';
import { DECODE_JOB } from '../attend/structs.js';
import type { Module } from '../driver/module.js';
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

/** Throws KERNEL_IMAGE_INVALID when the image lacks the kernel, PLAN_REFUSED when the card has too little shared memory. */
export function generalAttention(options: GeneralAttentionOptions): AttentionLaunch {
  const { module, plan, memory, key, value } = options;
  const numbers = attentionNumbers(plan);
  const { headBlocks, sharedBytes } = numbers;
  const prepared = new PreparedAttention({
    ...{ module, plan, memory, headBlocks, sharedBytes },
    name: GENERAL_ATTEND_KERNEL,
    threads: ATTEND_THREADS,
    countsHeadBlocks: false,
    parameters: [{ bytes: DECODE_JOB.bytes }, { bytes: GENERAL_ATTENTION.bytes }],
  });
  numbers.write(prepared.parameter(1), key, value);
  return prepared;
}
