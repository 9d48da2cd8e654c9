/**
 * Results of attention by part of the heads, put together on the device.
 */
import type { GpuContext } from '../device/context.js';
import type { Bound } from '../device/recorder.js';
import { gpuTensor } from '../gpu-tensor.js';
import type { InputPool } from './input-pool.js';

/** Elements of f32: parts begin where bindings may begin on every device. */
const ALIGNMENT = 64;

interface Pieces {
  readonly buffer: GPUBuffer;
  /** Elements of a query of one part. */
  readonly row: number;
  /** Elements from one part to the next. */
  readonly stride: number;
}

export class JoinedHeads {
  readonly #context: GpuContext;
  readonly #inputs: InputPool;
  readonly #parts: number;
  readonly #queries: number;
  readonly #results: readonly Pieces[];

  /** For results `[queries, queryHeads, dim]` of each of `dims`; the first two are those of the query. */
  constructor(
    context: GpuContext,
    inputs: InputPool,
    parts: number,
    [queries = 0, queryHeads = 0]: readonly number[],
    dims: readonly number[],
  ) {
    this.#context = context;
    this.#inputs = inputs;
    this.#parts = parts;
    this.#queries = queries;
    this.#results = dims.map((dim) => {
      const row = (queryHeads / parts) * dim;
      const stride = Math.ceil((queries * row) / ALIGNMENT) * ALIGNMENT;
      return { buffer: context.results.take(parts * stride * 4), row, stride };
    });
  }

  /** Where a part leaves a result, `[queries, heads of the part, dim]`. */
  part(result: number, part: number): Bound {
    const { buffer, stride } = this.#results[result] as Pieces;
    return { buffer, offset: part * stride * 4 };
  }

  /** Writes each result where its target says: a buffer, and its first byte. */
  write(targets: readonly { readonly buffer: GPUBuffer; readonly offset: number }[]): void {
    const { recorder, results } = this.#context;
    for (const [i, { buffer, row, stride }] of this.#results.entries()) {
      const target = targets[i] as (typeof targets)[number];
      const pieces = gpuTensor(buffer, {
        type: 'f32',
        shape: [this.#queries, this.#parts, row],
        strides: [row, stride],
      });
      this.#inputs.copy(pieces, target.buffer, target.offset / 4);
      recorder.whenSubmitted(() => results.give(buffer));
    }
  }
}
