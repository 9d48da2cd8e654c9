/**
 * Attention of one layer: one launch, its job written once but for what differs from step to step.
 */
import {
  type LayerPlan,
  LowbitKvError,
  type TensorType,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';
import { checkRange } from '../driver/check-range.js';
import type { DeviceRange } from '../driver/device-memory.js';
import type { Launch } from '../driver/launch.js';
import type { Module } from '../driver/module.js';
import type { Stream } from '../driver/stream.js';
import type { KernelInstance } from '../instances.js';
import type { LayerMemory } from '../memory/store-memory.js';
import type { AttentionScratch } from './attention-scratch.js';
import type { StepTables } from './step-tables.js';
import { BARRIER_BYTES, DECODE_JOB, QUERY_TYPES } from './structs.js';
import { slotsOf } from './work-list.js';

const LANES = 32;

export interface LayerAttentionOptions {
  readonly module: Module;
  readonly instance: KernelInstance;
  /** Of a block, as the image has them. */
  readonly warps: number;
  readonly plan: LayerPlan;
  readonly memory: LayerMemory;
}

/** What a launch reads and writes beside pages. */
export interface AttentionBuffers {
  readonly tables: StepTables;
  readonly scratch: AttentionScratch;
  /** `[queries, queryHeads, headDim]`, dense, beginning at a multiple of 16 bytes. */
  readonly queries: DeviceRange;
  readonly queryType: TensorType;
  /** f32 `[queries, queryHeads, headDim]`. */
  readonly output: DeviceRange;
  /** f32 `[queries, queryHeads]`. */
  readonly logSumExp?: DeviceRange;
  /** f16 `[rows, kvHeads, headDim]`: what this step appends, when a span names it. */
  readonly input?: { readonly key: DeviceRange; readonly value: DeviceRange };
}

type Field = keyof typeof DECODE_JOB.fields;

export class LayerAttention {
  readonly #options: LayerAttentionOptions;
  readonly #launch: Launch;
  readonly #job: DataView;
  /** Items that run at once, for the work list. */
  readonly slots: number;

  /** Throws KERNEL_IMAGE_INVALID when the image lacks the kernel, PLAN_REFUSED when the card has too little shared memory. */
  constructor(options: LayerAttentionOptions) {
    const { module, instance, warps, plan, memory } = options;
    const { geometry, key, value } = plan;
    const pageBytes = (memory.key.sizeOf('packed') + memory.value.sizeOf('packed')) / key.heads;
    this.#options = options;
    const kernel = module.kernel(instance.name, [{ bytes: DECODE_JOB.bytes }]);
    const threads = LANES * warps;
    const sharedBytes = warps * (pageBytes + BARRIER_BYTES);
    this.#launch = kernel.prepare({ grid: [1, value.heads], block: [threads], sharedBytes });
    const { multiprocessors } = kernel.context.device.properties.limits;
    const resident = multiprocessors * kernel.blocksPerMultiprocessor(threads, sharedBytes);
    this.slots = slotsOf(resident, geometry.kvHeads);
    this.#job = this.#launch.parameters.view(0);
    for (const tensor of ['key', 'value'] as const) {
      this.#setPointer(`${tensor}s`, memory[tensor].pointer('packed'));
      this.#setPointer(`${tensor}Windows`, memory[tensor].pointer('window'));
      this.#setPointer(`${tensor}Statistics`, memory[tensor].pointer('statistics'));
    }
    this.#setInteger('kvHeads', geometry.kvHeads);
    this.#setInteger('windowTokens', WINDOW_PAGE_TOKENS);
    this.#setFloat('scale', geometry.scale * Math.LOG2E);
    this.#setFloat('softCap', (geometry.softCap ?? 0) * Math.LOG2E);
  }

  /**
   * Enqueues attention over the tables as they are. `grid`: `items` launches what there is now; `capacity` what a graph needs
   * whose tables change from replay to replay. Nothing is launched without query tokens, unless for a graph.
   */
  run(stream: Stream, buffers: AttentionBuffers, grid: 'items' | 'capacity' = 'items'): void {
    const { plan } = this.#options;
    const { tables, scratch } = buffers;
    const { list, pointers } = tables;
    const count = grid === 'items' ? list.items.length : list.capacity;
    if (count === 0) return;
    const rows = list.queries;
    const { queryHeads, kvHeads, keyHeadDim, valueHeadDim } = plan.geometry;
    const queryBytes = rows * queryHeads * keyHeadDim * (buffers.queryType === 'f32' ? 4 : 2);
    checkRange('queries', 0, queryBytes, buffers.queries.bytes);
    checkRange('the output', 0, 4 * rows * queryHeads * valueHeadDim, buffers.output.bytes);
    checkRange('arrivals', 0, 4 * rows * kvHeads, scratch.arrivals.bytes);
    if (buffers.logSumExp !== undefined)
      checkRange('the log-sum-exp', 0, 4 * rows * queryHeads, buffers.logSumExp.bytes);
    if (list.needsInput && buffers.input === undefined) throw inputMissing();
    this.#setPointer('partials', scratch.partials.pointer);
    this.#setPointer('arrivals', scratch.arrivals.pointer);
    this.#setPointer('items', pointers.items);
    this.#setPointer('itemTable', pointers.itemTable);
    this.#setPointer('pageTable', pointers.pageTable);
    this.#setPointer('restTable', pointers.restTable);
    this.#setPointer('queries', buffers.queries.pointer);
    this.#setInteger('queryType', QUERY_TYPES.indexOf(buffers.queryType));
    this.#setPointer('output', buffers.output.pointer);
    this.#setPointer('logSumExp', buffers.logSumExp?.pointer ?? 0n);
    this.#setPointer('keyInput', buffers.input?.key.pointer ?? 0n);
    this.#setPointer('valueInput', buffers.input?.value.pointer ?? 0n);
    this.#launch.setGrid(count, kvHeads);
    this.#launch.run(stream);
  }

  #setPointer(field: Field, pointer: bigint): void {
    this.#job.setBigUint64(DECODE_JOB.fields[field], pointer, true);
  }

  #setInteger(field: Field, value: number): void {
    this.#job.setInt32(DECODE_JOB.fields[field], value, true);
  }

  #setFloat(field: Field, value: number): void {
    this.#job.setFloat32(DECODE_JOB.fields[field], value, true);
  }
}

function inputMissing(): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: 'attention over tokens of this step needs the tensors that were appended',
    value: undefined,
    valid: '`input` with the keys and values of the step',
    next: 'Pass the tensors given to `append`.',
  });
}
