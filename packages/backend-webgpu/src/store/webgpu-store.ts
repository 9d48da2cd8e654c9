/**
 * Executes jobs on a device. Jobs are recorded in the order of the calls; attention submits what is recorded.
 */
import {
  type AppendJob,
  type AttendJob,
  type AttentionResult,
  type BlockStore,
  elementCount,
  f32Tensor,
  type HostTensor,
  LowbitKvError,
  outlierCapacityError,
  type PageRequest,
  type Plan,
  type StoreOptions,
  type Tensor,
} from '@lowbit-kv/core';
import type { GpuContext } from '../device/context.js';
import type { Bound, Recording, Submission } from '../device/recorder.js';
import { gpuTensor, layoutOf } from '../gpu-tensor.js';
import type { ShaderOptions } from '../shaders/attention-programs.js';
import { appendTensor } from './append.js';
import { attend, WORKGROUPS } from './attend.js';
import { headsOfTensor, joinPages, splitPages } from './head-parts.js';
import { InputPool, type QueryInput } from './input-pool.js';
import { JoinedHeads } from './joined-heads.js';
import { importKernels } from './kernels.js';
import { createLayers, type Layer, pageBuffers, partShape } from './layers.js';
import { toCanonical, toReduction } from './page-order.js';
import { SegmentTables } from './segments.js';
import { StepFaults } from './step-faults.js';
import type { TensorMemory } from './tensor-memory.js';

/** Scratch that packing goes through, unless one block needs more. */
const SCRATCH_BYTES = 4 * 1024 * 1024;

export class WebGpuStore implements BlockStore {
  readonly #context: GpuContext;
  readonly #inputs: InputPool;
  readonly #faults: StepFaults;
  readonly #layers: Layer[];
  readonly #scratchBytes: number;
  readonly #segments = new SegmentTables();
  /** Buffers of results that somebody may still use. */
  readonly #results = new Set<GPUBuffer>();
  /** What the work of each open step was submitted in. */
  readonly #submissions = new Map<number, Set<Submission>>();
  /** Recordings with work of this cache that the caller has not submitted. */
  readonly #waiting = new Set<Recording>();
  #disposed = false;

  private constructor(
    context: GpuContext,
    layers: Layer[],
    inputs: InputPool,
    scratchBytes: number,
  ) {
    this.#context = context;
    this.#layers = layers;
    this.#inputs = inputs;
    this.#faults = new StepFaults(context.device);
    this.#scratchBytes = scratchBytes;
  }

  static async create(
    context: GpuContext,
    shaders: ShaderOptions,
    plan: Plan,
    options: StoreOptions,
  ): Promise<WebGpuStore> {
    context.check();
    const imports = await importKernels(context.pipelines);
    const layers = await createLayers(context, shaders, plan, options);
    const inputs = new InputPool(context, imports, options.nonFinite);
    return new WebGpuStore(context, layers, inputs, scratchBytes(plan));
  }

  get allocatedBytes(): number {
    return this.#layers
      .flatMap(({ parts }) => parts)
      .reduce((sum, { key, value }) => sum + key.pageBytes + value.pageBytes, 0);
  }

  append(job: AppendJob): void {
    const layer = this.#layer(job.layer);
    this.#enter();
    this.#context.recorder.job(this.#submissionsOf(job.step), () => this.#append(layer, job));
  }

  #append(layer: Layer, job: AppendJob): void {
    const { recorder, scratch } = this.#context;
    const { kvHeads } = layer.plan.geometry;
    for (const part of layer.parts) {
      const { number, firstHead, plan } = part;
      const heads = (tensor: Tensor) => headsOfTensor(tensor, firstHead, plan.geometry.kvHeads);
      const input = this.#inputs.put(job.step, number, heads(job.key), heads(job.value), {
        layer: layer.plan.layer,
        firstHead,
        heads: kvHeads,
        rows: job.rows,
      });
      for (const tensor of ['key', 'value'] as const) {
        appendTensor(
          {
            recorder,
            kernels: part.kernels[tensor],
            memory: part[tensor],
            order: layer.order,
            scratch: scratch.atLeast(this.#scratchBytes),
            inputs: input.buffer,
            inputHalf: input[tensor],
            fault: () =>
              this.#faults.register(job.step, (head) =>
                outlierCapacityError(plan[tensor], head, layer.plan.layer),
              ),
          },
          job.work[tensor],
        );
      }
    }
  }

  attend(job: AttendJob): AttentionResult {
    const layer = this.#layer(job.layer);
    this.#enter();
    const submissions = new Set<Submission>();
    const result = this.#context.recorder.job(submissions, () =>
      this.#attend(layer, job, submissions),
    );
    if (job.step !== null)
      for (const submission of submissions) this.#submissionsOf(job.step).add(submission);
    return result;
  }

  #attend(layer: Layer, job: AttendJob, submissions: Set<Submission>): AttentionResult {
    const { recorder, nothing, prepared, partials } = this.#context;
    const { queryHeads, valueHeadDim } = layer.plan.geometry;
    const [rows = 0] = job.query.shape;
    const output = this.#target(job.into?.output, [rows, queryHeads, valueHeadDim]);
    const sums = this.#target(job.into?.logSumExp, [rows, queryHeads]);
    const group = queryHeads / layer.plan.geometry.kvHeads;
    const joined =
      layer.parts.length === 1
        ? null
        : new JoinedHeads(this.#context, this.#inputs, layer.parts.length, job.query.shape, [
            valueHeadDim,
            1,
          ]);
    const queries = layer.parts.map(({ firstHead, plan: { geometry } }) =>
      this.#inputs.queryInput(
        headsOfTensor(job.query, firstHead * group, geometry.kvHeads * group),
      ),
    );
    attend(
      layer.parts.map((part, i) => ({
        plan: part.plan,
        recorder,
        kernels: part.kernels.attention,
        key: part.key,
        value: part.value,
        inputs:
          job.input === undefined
            ? { buffer: nothing, key: 0, value: 0 }
            : this.#inputs.get(job.step, part.number),
        query: queries[i] as QueryInput,
        prepared,
        partials,
        output: joined?.part(0, i) ?? output.bound,
        logSumExp: joined?.part(1, i) ?? sums.bound,
        workgroups: WORKGROUPS,
        segments: this.#segments,
      })),
      job.sequences.filter((sequence) => sequence.queries > 0),
    );
    for (const query of queries) query.done();
    joined?.write([output, sums]);
    recorder.submit();
    if (job.logSumExp) return this.#result(submissions, output, sums);
    this.#release(sums);
    return this.#result(submissions, output, undefined);
  }

  async settle(step: number): Promise<void> {
    const { recorder } = this.#context;
    recorder.submit();
    await this.#context.checkErrors(this.#submissionsOf(step));
    if (this.#waiting.size > 0 && (this.#inputs.isChecked(step) || this.#faults.isChecked(step))) {
      throw new LowbitKvError('STEP_STATE', {
        message: 'the step is checked when its work has run, and its encoder was not submitted yet',
        value: 'commit before Recording.submitted()',
        valid: 'commit after the encoder is submitted',
        next: "Submit the encoder, call submitted() of the recording, then commit; nonFinite: 'mask' checks no values.",
      });
    }
    await this.#inputs.checkFinite(step);
    await this.#faults.check(step);
    this.#submissions.delete(step);
    this.#inputs.release(step);
  }

  forget(step: number): void {
    const { recorder } = this.#context;
    recorder.submit();
    this.#submissions.delete(step);
    this.#inputs.release(step);
    const faults = this.#faults;
    recorder.whenSubmitted(() => faults.forget(step));
  }

  async readPages(request: PageRequest): Promise<Uint8Array> {
    const layer = this.#layer(request.layer);
    this.#enter();
    const parts: Uint8Array[] = [];
    for (const part of layer.parts) {
      const memory = part[request.tensor];
      const ranges = request.pages.map((page) => ({
        offset: memory.byteOf(request.kind, page),
        size: memory.sizeOf(request.kind),
      }));
      const bytes = await this.#context.read(memory.buffer, ranges);
      if (request.kind === 'packed' && layer.order === 'reduction')
        for (const page of pagesOf(bytes, memory)) toCanonical(memory.plan, page);
      parts.push(bytes);
    }
    return joinPages(parts, ...partShape(layer, request));
  }

  async writePages(request: PageRequest, bytes: Uint8Array): Promise<void> {
    const layer = this.#layer(request.layer);
    this.#enter();
    this.#context.recorder.submit();
    const parts = splitPages(bytes, layer.parts.length, ...partShape(layer, request));
    for (const [p, part] of layer.parts.entries()) {
      const memory = part[request.tensor];
      const size = memory.sizeOf(request.kind);
      for (const [i, page] of request.pages.entries()) {
        const own = (parts[p] as Uint8Array).slice(i * size, (i + 1) * size);
        if (request.kind === 'packed' && layer.order === 'reduction') toReduction(memory.plan, own);
        this.#context.device.queue.writeBuffer(
          memory.buffer,
          memory.byteOf(request.kind, page),
          own,
        );
      }
    }
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    const { recorder } = this.#context;
    const layers = this.#layers.splice(0);
    this.#inputs.dispose();
    recorder.whenSubmitted(() => {
      for (const buffer of [...pageBuffers(layers), ...this.#results]) {
        recorder.release(buffer);
        buffer.destroy();
      }
      this.#results.clear();
      this.#faults.dispose();
    });
  }

  #submissionsOf(step: number): Set<Submission> {
    let submissions = this.#submissions.get(step);
    if (submissions === undefined) {
      submissions = new Set();
      this.#submissions.set(step, submissions);
    }
    return submissions;
  }

  /** Work outside a recording would run before what waits in one. Throws STEP_STATE then. */
  #enter(): void {
    const { recorder } = this.#context;
    const { recording } = recorder;
    if (recording !== null) {
      if (this.#waiting.has(recording)) return;
      this.#waiting.add(recording);
      recorder.whenSubmitted(() => this.#waiting.delete(recording));
      return;
    }
    if (this.#waiting.size === 0) return;
    throw new LowbitKvError('STEP_STATE', {
      message: 'work of this cache waits in an encoder that was not submitted',
      value: `${this.#waiting.size} recordings`,
      valid: 'work inside a recording, or after the encoder is submitted',
      next: 'Submit the encoder and call submitted() of its recordings first.',
    });
  }

  /** A buffer of the caller, or one of the pool. */
  #target(into: Tensor | undefined, shape: readonly number[]): Target {
    if (into === undefined) {
      const buffer = this.#context.results.take(Math.max(4, elementCount(shape) * 4));
      this.#results.add(buffer);
      return { shape, buffer, bound: buffer, offset: 0, tensor: undefined };
    }
    const { buffer, offset, dense } = layoutOf(into);
    const { minStorageBufferOffsetAlignment } = this.#context.device.limits;
    const byte = offset * 4;
    if (into.type !== 'f32' || !dense || byte % minStorageBufferOffsetAlignment !== 0) {
      throw new LowbitKvError('TENSOR_INVALID', {
        message: 'attention cannot write to this tensor',
        value: { type: into.type, offset, dense },
        valid: `f32, dense, beginning at a multiple of ${minStorageBufferOffsetAlignment} bytes`,
        next: 'Give a tensor of its own for the output, and convert or copy it afterwards.',
      });
    }
    const bound = { buffer, offset: byte, size: elementCount(shape) * 4 };
    return { shape, buffer, bound, offset: byte, tensor: into };
  }

  /** Its buffer goes back to the pool, unless it is the caller's. */
  #release({ buffer, tensor }: Target): void {
    if (tensor !== undefined || !this.#results.delete(buffer)) return;
    const { recorder, results } = this.#context;
    recorder.whenSubmitted(() => results.give(buffer));
  }

  #result(
    submissions: ReadonlySet<Submission>,
    output: Target,
    logSumExp: Target | undefined,
  ): AttentionResult {
    // A buffer whose handle was asked for is somebody's: it is not used again before the cache is disposed.
    const taken = new Set<Target>();
    const targets = logSumExp === undefined ? [output] : [output, logSumExp];
    const tensor = (target: Target): Tensor =>
      target.tensor ?? {
        type: 'f32',
        shape: target.shape,
        device: 'webgpu',
        get handle() {
          taken.add(target);
          return gpuTensor(target.buffer, { type: 'f32', shape: target.shape }).handle;
        },
      };
    let reading: ReturnType<AttentionResult['read']> | undefined;
    const read = async () => {
      const host = await Promise.all(targets.map((target) => this.#read(target)));
      await this.#context.checkErrors(submissions);
      for (const target of targets) if (!taken.has(target)) this.#release(target);
      return { output: host[0] as HostTensor, logSumExp: host[1] };
    };
    return {
      output: tensor(output),
      logSumExp: logSumExp && tensor(logSumExp),
      // Once: the buffers may hold another result afterwards.
      read: async () => {
        if (reading === undefined) this.#enter();
        reading ??= read();
        return reading;
      },
    };
  }

  async #read({ buffer, offset, shape }: Target): Promise<HostTensor> {
    const count = elementCount(shape);
    const bytes = await this.#context.read(buffer, [{ offset, size: count * 4 }]);
    return f32Tensor(new Float32Array(bytes.buffer, 0, count), shape);
  }

  #layer(layer: number): Layer {
    const found = this.#layers[layer];
    if (found === undefined) {
      throw new LowbitKvError('CACHE_DISPOSED', {
        message: this.#disposed ? 'the store was disposed' : 'no such layer',
        value: layer,
        valid: this.#disposed ? 'nothing' : `0 to ${this.#layers.length - 1}`,
        next: 'Create a new cache.',
      });
    }
    this.#context.check();
    return found;
  }
}

/** Where a result goes. */
interface Target {
  readonly shape: readonly number[];
  readonly buffer: GPUBuffer;
  readonly bound: Bound;
  /** First byte. */
  readonly offset: number;
  /** Set when the caller gave it. */
  readonly tensor: Tensor | undefined;
}

/** Views of the packed pages in an array. */
function* pagesOf(bytes: Uint8Array, memory: TensorMemory): Generator<Uint8Array> {
  const size = memory.sizeOf('packed');
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Rows of a whole block of the widest tensor, or of all the tokens a statistic is taken from. */
export function scratchBytes(plan: Plan): number {
  let bytes = SCRATCH_BYTES;
  for (const { key, value } of plan.layers) {
    for (const tensor of [key, value]) {
      const { blockTokens, statisticsTokens } = plan.classes[
        tensor.class
      ] as Plan['classes'][number];
      const rows = Math.max(blockTokens, statisticsTokens);
      bytes = Math.max(bytes, rows * tensor.heads * tensor.headDim * 4);
    }
  }
  return bytes;
}
