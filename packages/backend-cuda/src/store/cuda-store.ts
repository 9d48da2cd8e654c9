/**
 * Executes jobs on a card. Everything is enqueued in one stream, in the order of the calls.
 */
import {
  type AppendJob,
  type AttendJob,
  type AttentionResult,
  type BlockStore,
  LowbitKvError,
  type PageRequest,
  type Plan,
  type StoreOptions,
  type TensorWork,
} from '@lowbit-kv/core';
import type { Runtime } from '../runtime.js';
import { AttentionStage } from './attention-stage.js';
import { createLayers, type Layer } from './layers.js';
import { type Writes, writeWords } from './moves.js';
import type { PackContext } from './packed-pages.js';
import { readRanges } from './readback.js';
import { Results } from './results.js';
import { SharedTables } from './shared-tables.js';
import { StepFlags } from './step-flags.js';
import { type StepInput, StepInputs } from './step-inputs.js';

export class CudaStore implements BlockStore {
  readonly #runtime: Runtime;
  readonly #layers: readonly Layer[];
  readonly #dispose: () => void;
  readonly #tables: SharedTables;
  readonly #flags: StepFlags;
  readonly #inputs: StepInputs;
  readonly #attention: AttentionStage;
  readonly #results: Results;
  readonly allocatedBytes: number;
  #disposed = false;

  /** Throws DEVICE_OUT_OF_MEMORY, and leaves nothing then. */
  constructor(runtime: Runtime, plan: Plan, options: StoreOptions) {
    const { stream, ring, pool, moves, context } = runtime;
    const made: { dispose(): void }[] = [];
    const keep = <T extends { dispose(): void }>(resource: T): T => {
      made.push(resource);
      return resource;
    };
    this.#runtime = runtime;
    this.#dispose = () => {
      for (const resource of made.reverse()) resource.dispose();
    };
    try {
      const { memory, layers } = keep(createLayers(runtime, plan, options));
      this.#layers = layers;
      this.allocatedBytes = memory.allocatedBytes;
      this.#flags = keep(new StepFlags(context, stream));
      this.#attention = keep(new AttentionStage(runtime, layers));
    } catch (error) {
      this.#dispose();
      throw error;
    }
    this.#tables = new SharedTables(stream, ring, pool);
    this.#results = keep(new Results(stream, pool));
    this.#inputs = new StepInputs({
      stream,
      ring,
      pool,
      moves,
      flags: this.#flags,
      nonFinite: options.nonFinite,
    });
  }

  append(job: AppendJob): void {
    const layer = this.#layer(job.layer);
    this.#runtime.context.run(() => this.#append(layer, job));
  }

  #append(layer: Layer, job: AppendJob): void {
    const { stream, moves } = this.#runtime;
    const input = this.#inputs.put(job, layer.plan.layer);
    for (const tensor of ['key', 'value'] as const)
      this.#copy(layer, tensor, job.work[tensor].copies);
    for (const tensor of ['key', 'value'] as const) {
      const { statistics } = job.work[tensor];
      if (statistics.length > 0)
        layer[tensor].pages?.measure?.(this.#packContext(job, input[tensor]), statistics);
    }
    moves.write(
      stream,
      this.#writes(layer, 'key', job, input),
      this.#writes(layer, 'value', job, input),
    );
    for (const tensor of ['key', 'value'] as const) {
      const { packs } = job.work[tensor];
      if (packs.length > 0) layer[tensor].pages?.pack(this.#packContext(job, input[tensor]), packs);
    }
  }

  #packContext({ step }: AppendJob, input: PackContext['input']): PackContext {
    return { stream: this.#runtime.stream, step, tables: this.#tables, flags: this.#flags, input };
  }

  #copy(layer: Layer, tensor: 'key' | 'value', copies: TensorWork['copies']): void {
    const { memory } = layer[tensor];
    for (const { kind, from, to } of copies)
      memory.page(kind, to).copyFrom(this.#runtime.stream, memory.page(kind, from));
  }

  #writes(layer: Layer, tensor: 'key' | 'value', job: AppendJob, input: StepInput): Writes {
    const { memory } = layer[tensor];
    const { writes } = job.work[tensor];
    const { heads, headDim } = memory.plan;
    const entries = writes.length;
    return {
      table:
        entries === 0 ? 0n : this.#tables.of(job.step, writes, 'writes', () => writeWords(writes)),
      entries,
      input: input[tensor].pointer,
      windows: memory.pointer('window'),
      heads,
      headDim,
    };
  }

  attend(job: AttendJob): AttentionResult {
    const layer = this.#layer(job.layer);
    return this.#runtime.context.run(() => {
      const { queryHeads, valueHeadDim } = layer.plan.geometry;
      const [rows = 0] = job.query.shape;
      const output = this.#results.target(job.into?.output, [rows, queryHeads, valueHeadDim]);
      const sums = job.logSumExp
        ? this.#results.target(job.into?.logSumExp, [rows, queryHeads])
        : undefined;
      const query = this.#inputs.queries(job.query);
      const input = job.input && this.#inputs.get(job.step, job.layer);
      this.#attention.run(layer, job.sequences, {
        query,
        rows,
        output: output.range,
        logSumExp: sums?.range,
        input,
      });
      query.done();
      return this.#results.result(output, sums);
    });
  }

  async settle(step: number): Promise<void> {
    this.#check();
    await this.#flags.check(step);
    this.#release(step);
  }

  forget(step: number): void {
    if (this.#disposed) return;
    this.#flags.release(step);
    this.#release(step);
  }

  #release(step: number): void {
    this.#tables.release(step);
    this.#inputs.release(step);
  }

  async readPages({ layer, tensor, kind, pages }: PageRequest): Promise<Uint8Array> {
    const { memory, pages: packed } = this.#layer(layer)[tensor];
    const ranges = pages.map((page) => memory.page(kind, page));
    const bytes = await readRanges(this.#runtime.stream, ranges);
    if (kind !== 'packed' || packed === undefined) return bytes;
    const size = memory.sizeOf(kind);
    return joined(
      pages.map((_, i) => packed.toCanonical(bytes.subarray(i * size, (i + 1) * size))),
    );
  }

  async writePages({ layer, tensor, kind, pages }: PageRequest, bytes: Uint8Array): Promise<void> {
    const { memory, pages: packed } = this.#layer(layer)[tensor];
    const { stream, ring } = this.#runtime;
    const size = pages.length === 0 ? 0 : bytes.length / pages.length;
    for (const [i, page] of pages.entries()) {
      const own = bytes.subarray(i * size, (i + 1) * size);
      const data = kind === 'packed' && packed !== undefined ? packed.fromCanonical(own) : own;
      ring.upload(stream, memory.page(kind, page), data);
    }
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#dispose();
  }

  #check(): void {
    if (!this.#disposed) return;
    throw new LowbitKvError('CACHE_DISPOSED', {
      message: 'the store was disposed',
      valid: 'a store in use',
      next: 'Create a new cache.',
    });
  }

  #layer(layer: number): Layer {
    this.#check();
    const found = this.#layers[layer];
    if (found !== undefined) return found;
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'no such layer',
      value: layer,
      valid: `0 to ${this.#layers.length - 1}`,
      next: 'Name a layer of the plan.',
    });
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}
