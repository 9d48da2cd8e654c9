/**
 * The job that attention kernels read (kernels/job.cuh): written once but for what differs from step to step.
 */
import {
  type LayerPlan,
  LowbitKvError,
  type TensorType,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';
import { checkRange } from '../driver/check-range.js';
import type { DeviceRange } from '../driver/device-memory.js';
import type { LayerMemory } from '../memory/store-memory.js';
import type { AttentionScratch } from './attention-scratch.js';
import type { StepTables } from './step-tables.js';
import { DECODE_JOB, QUERY_TYPES } from './structs.js';

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

/** `items` launches what there is now; `capacity` what a graph needs whose tables change from replay to replay. */
export type AttentionGrid = 'items' | 'capacity';

type Field = keyof typeof DECODE_JOB.fields;

export class AttentionJob {
  readonly #plan: LayerPlan;
  readonly #view: DataView;
  readonly #blocks: number;

  /** `view`: the parameter of a launch. `blocks`: of an item, each of which has its arrivals counted. */
  constructor(
    view: DataView,
    plan: LayerPlan,
    memory: LayerMemory,
    blocks = plan.geometry.kvHeads,
  ) {
    this.#plan = plan;
    this.#blocks = blocks;
    this.#view = view;
    const { geometry } = plan;
    for (const tensor of ['key', 'value'] as const) {
      this.#setPointer(`${tensor}s`, memory[tensor].pointer('packed'));
      this.#setPointer(`${tensor}Windows`, memory[tensor].pointer('window'));
      this.#setPointer(`${tensor}Statistics`, memory[tensor].pointer('statistics'));
    }
    this.#setInteger('kvHeads', geometry.kvHeads);
    this.#setInteger('queryHeads', geometry.queryHeads / geometry.kvHeads);
    this.#setInteger('windowTokens', WINDOW_PAGE_TOKENS);
    this.#setFloat('scale', geometry.scale * Math.LOG2E);
    this.#setFloat('softCap', (geometry.softCap ?? 0) * Math.LOG2E);
  }

  /**
   * Fills in tables and buffers as they are, and gives the number of items to launch. Throws OPTION_INVALID for buffers that are
   * too small or missing.
   */
  fill(buffers: AttentionBuffers, grid: AttentionGrid): number {
    const { tables, scratch } = buffers;
    const { list, pointers } = tables;
    const count = grid === 'items' ? list.items.length : list.capacity;
    if (count === 0) return 0;
    const rows = list.queries;
    const { queryHeads, keyHeadDim, valueHeadDim } = this.#plan.geometry;
    const queryBytes = rows * queryHeads * keyHeadDim * (buffers.queryType === 'f32' ? 4 : 2);
    checkRange('queries', 0, queryBytes, buffers.queries.bytes);
    checkRange('the output', 0, 4 * rows * queryHeads * valueHeadDim, buffers.output.bytes);
    checkRange('arrivals', 0, 4 * rows * this.#blocks, scratch.arrivals.bytes);
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
    return count;
  }

  #setPointer(field: Field, pointer: bigint): void {
    this.#view.setBigUint64(DECODE_JOB.fields[field], pointer, true);
  }

  #setInteger(field: Field, value: number): void {
    this.#view.setInt32(DECODE_JOB.fields[field], value, true);
  }

  #setFloat(field: Field, value: number): void {
    this.#view.setFloat32(DECODE_JOB.fields[field], value, true);
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
