/**
 * Executes jobs on a device. Jobs are recorded in the order of the calls; attention submits what is recorded.
 */
import {
  type AppendJob,
  type AttendJob,
  type AttentionResult,
  type BlockStore,
  type DeviceTensor,
  f32Tensor,
  type HostTensor,
  type LayerPlan,
  LowbitKvError,
  type PageRequest,
  type Plan,
  requireHostTensor,
  type StoreOptions,
  type TensorPlan,
} from '@lowbit-kv/core';
import { GrowingBuffer } from '../device/growing-buffer.js';
import type { Kernel, Pipelines } from '../device/pipelines.js';
import { readBuffer } from '../device/read-buffer.js';
import { Recorder } from '../device/recorder.js';
import { attentionPrograms, orderOf, type ShaderOptions } from '../shaders/attention-programs.js';
import type { CodeOrder } from '../shaders/code-order.js';
import type { Program } from '../shaders/programs.js';
import { type TensorNumbers, tensorNumbers } from '../shaders/tensor-numbers.js';
import { type TensorPrograms, tensorPrograms } from '../shaders/tensor-programs.js';
import { appendTensor, type TensorKernels } from './append.js';
import { type AttentionKernels, attend, WORKGROUPS } from './attend.js';
import { InputPool } from './input-pool.js';
import { outlierCapacity } from './outlier-capacity.js';
import { toCanonical, toReduction } from './page-order.js';
import { StepFaults } from './step-faults.js';
import { TensorMemory } from './tensor-memory.js';

/** Scratch that packing goes through, unless one block needs more. */
const SCRATCH_BYTES = 4 * 1024 * 1024;

interface Layer {
  readonly plan: LayerPlan;
  readonly key: TensorMemory;
  readonly value: TensorMemory;
  readonly order: CodeOrder;
  readonly kernels: LayerKernels;
}

type LayerNumbers = Readonly<Record<'key' | 'value', TensorNumbers>>;

interface LayerKernels {
  readonly key: TensorKernels;
  readonly value: TensorKernels;
  readonly attention: AttentionKernels;
}

export class WebGpuStore implements BlockStore {
  readonly #device: GPUDevice;
  readonly #recorder: Recorder;
  readonly #inputs: InputPool;
  readonly #faults: StepFaults;
  readonly #layers: Layer[];
  readonly #scratch: GPUBuffer;
  readonly #prepared: GrowingBuffer;
  readonly #partials: GrowingBuffer;
  readonly #nothing: GPUBuffer;
  #disposed = false;

  private constructor(device: GPUDevice, layers: Layer[], scratchBytes: number) {
    this.#device = device;
    this.#layers = layers;
    this.#recorder = new Recorder(device);
    this.#inputs = new InputPool(device);
    this.#faults = new StepFaults(device);
    this.#scratch = device.createBuffer({
      label: 'lowbit-kv scratch',
      size: scratchBytes,
      usage: 0x80,
    });
    this.#nothing = device.createBuffer({ label: 'lowbit-kv no input', size: 16, usage: 0x80 });
    this.#prepared = new GrowingBuffer(device, this.#recorder, 'lowbit-kv queries');
    this.#partials = new GrowingBuffer(device, this.#recorder, 'lowbit-kv partial results');
  }

  static async create(
    device: GPUDevice,
    pipelines: Pipelines,
    shaders: ShaderOptions,
    plan: Plan,
    options: StoreOptions,
  ): Promise<WebGpuStore> {
    const numbers = plan.layers.map(({ key, value, geometry }) => ({
      key: tensorNumbers(key, geometry.rotary),
      value: tensorNumbers(value),
    }));
    const kernels = await Promise.all(
      plan.layers.map((layer, i) =>
        layerKernels(pipelines, shaders, layer, numbers[i] as LayerNumbers),
      ),
    );
    const layers = plan.layers.map((layer, i): Layer => {
      const memory = (tensor: TensorPlan) =>
        new TensorMemory(
          device,
          tensor,
          options.pages[tensor.class] ?? { packed: 0, window: 0, statistics: 0 },
          (numbers[i] as LayerNumbers)[tensor.tensor].words,
        );
      return {
        plan: layer,
        key: memory(layer.key),
        value: memory(layer.value),
        order: orderOf(layer, shaders),
        kernels: kernels[i] as LayerKernels,
      };
    });
    return new WebGpuStore(device, layers, scratchBytes(plan));
  }

  get allocatedBytes(): number {
    return this.#layers.reduce((sum, { key, value }) => sum + key.pageBytes + value.pageBytes, 0);
  }

  append(job: AppendJob): void {
    const layer = this.#layer(job.layer);
    const [key, value] = [requireHostTensor(job.key), requireHostTensor(job.value)];
    const input = this.#inputs.upload(job.step, key, value);
    for (const tensor of ['key', 'value'] as const) {
      appendTensor(
        {
          recorder: this.#recorder,
          kernels: layer.kernels[tensor],
          memory: layer[tensor],
          order: layer.order,
          scratch: this.#scratch,
          inputs: input.buffer,
          inputHalf: input[tensor],
          fault: () =>
            this.#faults.register(job.step, (head) =>
              outlierCapacity(layer.plan[tensor], layer.plan.layer, head),
            ),
        },
        job.work[tensor],
      );
    }
  }

  attend(job: AttendJob): AttentionResult {
    const layer = this.#layer(job.layer);
    const { queryHeads, valueHeadDim } = layer.plan.geometry;
    const query = requireHostTensor(job.query);
    const queries = query.shape[0] as number;
    const output = this.#resultBuffer(queries * queryHeads * valueHeadDim);
    const logSumExp = this.#resultBuffer(queries * queryHeads);
    const inputs =
      job.input === undefined
        ? { buffer: this.#nothing, key: 0, value: 0 }
        : this.#inputs.upload(
            job.step ?? -1,
            requireHostTensor(job.input.key),
            requireHostTensor(job.input.value),
          );
    const queryBuffer = this.#upload(query);
    attend(
      {
        plan: layer.plan,
        recorder: this.#recorder,
        kernels: layer.kernels.attention,
        key: layer.key,
        value: layer.value,
        inputs,
        query: { buffer: queryBuffer, type: query.type },
        prepared: this.#prepared,
        partials: this.#partials,
        output,
        logSumExp,
        workgroups: WORKGROUPS,
      },
      job.sequences.filter((sequence) => sequence.queries > 0),
    );
    this.#recorder.submit();
    for (const buffer of [queryBuffer, output, logSumExp]) this.#recorder.release(buffer);
    queryBuffer.destroy();
    return this.#result(
      { buffer: output, shape: [queries, queryHeads, valueHeadDim] },
      job.logSumExp ? { buffer: logSumExp, shape: [queries, queryHeads] } : undefined,
    );
  }

  async settle(step: number): Promise<void> {
    this.#recorder.submit();
    this.#inputs.release(step);
    await this.#device.queue.onSubmittedWorkDone();
    await this.#faults.check(step);
  }

  forget(step: number): void {
    this.#recorder.submit();
    this.#inputs.release(step);
    this.#faults.forget(step);
  }

  async readPages(request: PageRequest): Promise<Uint8Array> {
    const layer = this.#layer(request.layer);
    const memory = layer[request.tensor];
    this.#recorder.submit();
    const ranges = request.pages.map((page) => ({
      offset: memory.byteOf(request.kind, page),
      size: memory.sizeOf(request.kind),
    }));
    const bytes = await readBuffer(this.#device, memory.buffer, ranges);
    if (request.kind === 'packed' && layer.order === 'reduction')
      for (const page of pagesOf(bytes, memory)) toCanonical(memory.plan, page);
    return bytes;
  }

  async writePages(request: PageRequest, bytes: Uint8Array): Promise<void> {
    const layer = this.#layer(request.layer);
    const memory = layer[request.tensor];
    this.#recorder.submit();
    const size = memory.sizeOf(request.kind);
    for (const [i, page] of request.pages.entries()) {
      const part = bytes.slice(i * size, (i + 1) * size);
      if (request.kind === 'packed' && layer.order === 'reduction') toReduction(memory.plan, part);
      this.#device.queue.writeBuffer(memory.buffer, memory.byteOf(request.kind, page), part);
    }
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const { key, value } of this.#layers) {
      key.buffer.destroy();
      value.buffer.destroy();
    }
    this.#layers.length = 0;
    for (const part of [this.#inputs, this.#faults, this.#prepared, this.#partials, this.#recorder])
      part.dispose();
    this.#scratch.destroy();
    this.#nothing.destroy();
  }

  #result(
    output: { readonly buffer: GPUBuffer; readonly shape: readonly number[] },
    logSumExp: { readonly buffer: GPUBuffer; readonly shape: readonly number[] } | undefined,
  ): AttentionResult {
    const tensor = ({ buffer, shape }: typeof output): DeviceTensor => ({
      type: 'f32',
      shape,
      device: 'webgpu',
      handle: buffer,
    });
    const host = async ({ buffer, shape }: typeof output): Promise<HostTensor> => {
      const count = shape.reduce((product, size) => product * size, 1);
      const bytes = await readBuffer(this.#device, buffer, [{ offset: 0, size: count * 4 }]);
      return f32Tensor(new Float32Array(bytes.buffer, 0, count), shape);
    };
    return {
      output: tensor(output),
      logSumExp: logSumExp && tensor(logSumExp),
      read: async () => ({
        output: await host(output),
        logSumExp: logSumExp && (await host(logSumExp)),
      }),
    };
  }

  #resultBuffer(words: number): GPUBuffer {
    const size = Math.max(16, words * 4);
    return this.#device.createBuffer({ label: 'lowbit-kv result', size, usage: 0x8c });
  }

  #upload(tensor: HostTensor): GPUBuffer {
    const bytes = tensor.data.byteLength;
    const size = Math.max(16, Math.ceil(bytes / 4) * 4);
    const buffer = this.#device.createBuffer({
      label: 'lowbit-kv query',
      size,
      usage: 0x80,
      mappedAtCreation: true,
    });
    new Uint8Array(buffer.getMappedRange()).set(
      new Uint8Array(tensor.data.buffer, tensor.data.byteOffset, bytes),
    );
    buffer.unmap();
    return buffer;
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
    return found;
  }
}

/** Views of the packed pages in an array. */
function* pagesOf(bytes: Uint8Array, memory: TensorMemory): Generator<Uint8Array> {
  const size = memory.sizeOf('packed');
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Rows of a whole block of the widest tensor, or of all the tokens a statistic is taken from. */
function scratchBytes(plan: Plan): number {
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

async function layerKernels(
  pipelines: Pipelines,
  shaders: ShaderOptions,
  layer: LayerPlan,
  numbers: LayerNumbers,
): Promise<LayerKernels> {
  const order = orderOf(layer, shaders);
  const kernel = (program: Program): Promise<Kernel> => pipelines.kernel(program);
  const programs = attentionPrograms(layer, numbers, shaders);
  const [key, value, query, attendKernel, merge] = await Promise.all([
    tensorKernels(pipelines, tensorPrograms(layer.key, numbers.key, order)),
    tensorKernels(pipelines, tensorPrograms(layer.value, numbers.value, order)),
    kernel(programs.query),
    kernel(programs.attend),
    kernel(programs.merge),
  ]);
  return { key, value, attention: { ...programs, query, attend: attendKernel, merge } };
}

async function tensorKernels(
  pipelines: Pipelines,
  programs: TensorPrograms,
): Promise<TensorKernels> {
  const kernel = (program: Program): Promise<Kernel> => pipelines.kernel(program);
  const { write, copy, pack } = programs;
  return {
    write: await kernel(write),
    copy: await kernel(copy),
    pack: pack && {
      gather: await kernel(pack.gather),
      parameters: pack.parameters && (await kernel(pack.parameters)),
      codes: await kernel(pack.codes),
      top: pack.top && (await kernel(pack.top)),
      outliers: pack.outliers && (await kernel(pack.outliers)),
      statistics: await Promise.all(
        pack.statistics.map(async ({ gather, measure }) => ({
          gather: await kernel(gather),
          measure: await kernel(measure),
        })),
      ),
    },
  };
}
