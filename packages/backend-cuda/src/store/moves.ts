/**
 * Kernels of kernels/move.cuh: tensors of a caller become dense ones, rows of those go to window pages.
 */
import {
  elementCount,
  type Tensor,
  type TensorType,
  type TensorWork,
  WINDOW_PAGE_TOKENS,
} from '@lowbit-kv/core';
import { QUERY_TYPES } from '../attend/structs.js';
import { placeOf } from '../cuda-tensor.js';
import type { DeviceRange } from '../driver/device-memory.js';
import type { Launch } from '../driver/launch.js';
import type { Module } from '../driver/module.js';
import type { Stream } from '../driver/stream.js';
import { WRITE_JOB } from './append-job.js';
import type { ValueCheck } from './step-inputs.js';

/** ImportJob of kernels/move.cuh. */
export const IMPORT_JOB = {
  bytes: 80,
  fields: {
    source: 0,
    target: 8,
    flag: 16,
    elements: 24,
    batchStride: 32,
    tokenStride: 40,
    headStride: 48,
    tokensPerBatch: 56,
    heads: 60,
    headDim: 64,
    sourceType: 68,
    targetType: 72,
    unused: 76,
  },
} as const;
export const WRITE_WORDS = 4;
const THREADS = 128;
const BLOCKS = 1024;
/** Entries of a launch: a dimension of the grid. */
const MOST_HEADS = 65_535;

/** Rows of one tensor that a step writes to window pages. */
export interface Writes {
  /** CUdeviceptr of the entries. */
  readonly table: bigint;
  readonly entries: number;
  readonly input: bigint;
  readonly windows: bigint;
  readonly heads: number;
  readonly headDim: number;
}

/** A tensor of a caller, and where it goes. */
interface Moved {
  readonly source: bigint;
  readonly sourceType: TensorType;
  readonly target: bigint;
  readonly targetType: TensorType;
  readonly flag: bigint;
  readonly elements: number;
  readonly heads: number;
  readonly headDim: number;
  readonly tokensPerBatch: number;
  readonly batchStride: number;
  readonly tokenStride: number;
  readonly headStride: number;
}

export class Moves {
  readonly #import: Launch;
  readonly #write: Launch;

  /** `module`: the part `move` of an image. */
  constructor(module: Module) {
    const block = { grid: [1], block: [THREADS] } as const;
    this.#import = module.kernel('import_tensor', [{ bytes: IMPORT_JOB.bytes }]).prepare(block);
    this.#write = module
      .kernel('write_rows', [{ bytes: WRITE_JOB.bytes }, { bytes: WRITE_JOB.bytes }])
      .prepare(block);
  }

  /** A tensor in device memory to a dense one; `target` 0n only looks at the values. `flag`: address of a word, or 0n. */
  import(
    stream: Stream,
    tensor: Tensor,
    target: bigint,
    targetType: TensorType,
    flag: bigint,
  ): void {
    const { range, type, ...strides } = placeOf(tensor, stream.context);
    const [, heads = 1, headDim = 1] = tensor.shape;
    this.#run(stream, {
      ...{ source: range.pointer, sourceType: type, target, targetType, flag },
      ...{ elements: elementCount(tensor.shape), heads, headDim, ...strides },
    });
  }

  /** Looks at dense f16 numbers; nothing without a check. */
  check(stream: Stream, { pointer }: DeviceRange, check: ValueCheck | undefined): void {
    if (check === undefined) return;
    const { flag, elements } = check;
    this.#run(stream, {
      ...{ source: pointer, sourceType: 'f16', target: 0n, targetType: 'f16', flag, elements },
      // One row.
      ...{ heads: 1, headDim: elements, batchStride: 0, tokenStride: 0, headStride: 0 },
      tokensPerBatch: 1,
    });
  }

  #run(stream: Stream, moved: Moved): void {
    const { elements, headDim } = moved;
    if (elements === 0) return;
    const { fields } = IMPORT_JOB;
    const job = this.#import.parameters.view(0);
    const set64 = (offset: number, value: bigint | number) =>
      job.setBigUint64(offset, BigInt(value), true);
    const set32 = (offset: number, value: number) => job.setUint32(offset, value, true);
    for (const name of ['source', 'target', 'flag', 'elements'] as const)
      set64(fields[name], moved[name]);
    for (const name of ['batchStride', 'tokenStride', 'headStride'] as const)
      set64(fields[name], moved[name]);
    set32(fields.tokensPerBatch, Math.max(1, moved.tokensPerBatch));
    set32(fields.heads, moved.heads);
    set32(fields.headDim, headDim);
    set32(fields.sourceType, QUERY_TYPES.indexOf(moved.sourceType));
    set32(fields.targetType, QUERY_TYPES.indexOf(moved.targetType === 'f32' ? 'f32' : 'f16'));
    const runs = elements / (headDim % 8 === 0 ? 8 : 1);
    this.#import.setGrid(Math.min(BLOCKS, Math.ceil(runs / THREADS)));
    this.#import.run(stream);
  }

  /** Both tensors of a layer in one launch; nothing where there are no rows. */
  write(stream: Stream, key: Writes, value: Writes): void {
    const entries = Math.max(key.entries, value.entries);
    if (entries === 0) return;
    for (const [index, writes] of [key, value].entries()) {
      const job = this.#write.parameters.view(index);
      const { fields } = WRITE_JOB;
      job.setBigUint64(fields.table, writes.table, true);
      job.setBigUint64(fields.input, writes.input, true);
      job.setBigUint64(fields.windows, writes.windows, true);
      job.setUint32(fields.entries, writes.entries, true);
      job.setUint32(fields.heads, writes.heads, true);
      job.setUint32(fields.headDim, writes.headDim, true);
      job.setUint32(fields.windowTokens, WINDOW_PAGE_TOKENS, true);
    }
    this.#write.setGrid(entries, Math.min(MOST_HEADS, Math.max(key.heads, value.heads)), 2);
    this.#write.run(stream);
  }
}

/** Words of the entries of window writes. */
export function writeWords(writes: TensorWork['writes']): Uint32Array {
  const words = new Uint32Array(writes.length * WRITE_WORDS);
  for (const [i, { row, page, slot, count }] of writes.entries())
    words.set([row, page, slot, count], i * WRITE_WORDS);
  return words;
}
