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
import { disposeAll } from '../driver/dispose-all.js';
import type { Runtime } from '../runtime.js';
import { AttentionStage } from './attention-stage.js';
import { createLayers, type Layer, type LayerTensor } from './layers.js';
import { notMeasured } from './packed-pages.js';
import { readRanges } from './readback.js';
import { Results, type Target } from './results.js';
import { SharedTables } from './shared-tables.js';
import { StepFlags } from './step-flags.js';
import { type StepInput, StepInputs } from './step-inputs.js';
import { notCapturable } from './step-session.js';

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
    this.#dispose = () => disposeAll(made.toReversed());
    try {
      const { memory, layers } = keep(createLayers(runtime, plan, options));
      this.#layers = layers;
      this.allocatedBytes = memory.allocatedBytes;
      this.#flags = keep(new StepFlags(context, stream));
      this.#attention = keep(new AttentionStage(runtime, plan, layers));
    } catch (error) {
      this.#dispose();
      throw error;
    }
    this.#tables = keep(new SharedTables(stream, ring, pool));
    this.#results = keep(new Results(stream, pool));
    const { nonFinite } = options;
    this.#inputs = keep(
      new StepInputs({ stream, ring, pool, moves, flags: this.#flags, nonFinite }),
    );
  }

  append(job: AppendJob): void {
    const layer = this.#layer(job.layer);
    this.#run(job.step, () => this.#append(layer, job));
  }

  /** Within the captured step that runs now, where there is one. */
  #run<T>(step: number | null, work: () => T): T {
    const { context, session } = this.#runtime;
    return context.run(() => (session === undefined ? work() : session.within(this, step, work)));
  }

  #append(layer: Layer, job: AppendJob): void {
    const { session } = this.#runtime;
    const input = this.#inputs.put(job, layer.plan.layer, session);
    session?.job(`append of ${layer.plan.layer}`, [input.key.pointer, input.value.pointer]);
    for (const tensor of ['key', 'value'] as const) this.#copy(layer, tensor, job.work[tensor]);
    for (const tensor of ['key', 'value'] as const)
      this.#measure(layer[tensor], tensor, job, input);
    const { launches } = this.#runtime;
    layer.append.run(job, { launches, session, tables: this.#tables, flags: this.#flags, input });
  }

  #copy(layer: Layer, tensor: 'key' | 'value', { copies }: TensorWork): void {
    const { memory } = layer[tensor];
    for (const { kind, from, to } of copies)
      memory.page(kind, to).copyFrom(this.#runtime.stream, memory.page(kind, from));
  }

  #measure(
    { memory, pages }: LayerTensor,
    tensor: 'key' | 'value',
    job: AppendJob,
    input: StepInput,
  ): void {
    const { statistics } = job.work[tensor];
    if (statistics.length === 0) return;
    if (this.#runtime.session !== undefined)
      throw notCapturable('statistics of a sequence', 'Run this step outside of the graph.');
    if (pages === undefined) throw notMeasured(memory.plan);
    const { launches, session } = this.#runtime;
    const { step } = job;
    pages.measure(
      { launches, session, step, tables: this.#tables, flags: this.#flags, input: input[tensor] },
      statistics,
    );
  }

  attend(job: AttendJob): AttentionResult {
    const layer = this.#layer(job.layer);
    return this.#run(job.step, () => {
      const { queryHeads, valueHeadDim } = layer.plan.geometry;
      const [rows = 0] = job.query.shape;
      const output = this.#results.target(job.into?.output, [rows, queryHeads, valueHeadDim]);
      let sums: Target | undefined;
      try {
        if (job.logSumExp) sums = this.#results.target(job.into?.logSumExp, [rows, queryHeads]);
        this.#attend(layer, job, rows, output, sums);
      } catch (error) {
        this.#results.release(output);
        this.#results.release(sums);
        throw error;
      }
      return this.#results.result(output, sums);
    });
  }

  #attend(
    layer: Layer,
    job: AttendJob,
    rows: number,
    output: Target,
    sums: Target | undefined,
  ): void {
    const { session } = this.#runtime;
    if (session !== undefined) checkCaptured(job, output, sums);
    const query = this.#inputs.queries(job.query, session);
    try {
      const input = job.input && this.#inputs.get(job.step, job.layer);
      session?.job(
        `attend of ${layer.plan.layer} in ${query.type}`,
        [query.range, output.range, ...(sums === undefined ? [] : [sums.range])].map(
          ({ pointer }) => pointer,
        ),
      );
      this.#attention.run(layer, job.sequences, {
        query,
        rows,
        output: output.range,
        logSumExp: sums?.range,
        input,
      });
    } finally {
      query.done();
    }
  }

  async settle(step: number): Promise<void> {
    this.#check();
    try {
      await this.#flags.check(step);
    } catch (error) {
      // Disposed while the card worked: there is nothing to say of the step.
      this.#check();
      throw error;
    }
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

/** Throws STEP_STATE for results that would lie elsewhere in the next step. */
function checkCaptured({ into }: AttendJob, output: Target, sums: Target | undefined): void {
  if (output.tensor !== undefined && (sums === undefined || sums.tensor !== undefined)) return;
  throw notCapturable(
    into === undefined ? 'attention without `into`' : 'a log-sum-exp without `into`',
    'Give tensors in device memory that every run of the step writes to.',
  );
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
