/**
 * Keys and values of steps until they end (f16, keys then values), and queries of a job.
 */
import {
  type AppendJob,
  elementBytes,
  elementCount,
  type HostTensor,
  isHostTensor,
  LowbitKvError,
  nonFiniteError,
  type Tensor,
  type TensorType,
} from '@lowbit-kv/core';
import type { GpuContext } from '../device/context.js';
import type { Kernel } from '../device/pipelines.js';
import { type Bound, LONGEST_X } from '../device/recorder.js';
import { type GpuLayout, layoutOf } from '../gpu-tensor.js';
import { RUN_ELEMENTS } from '../shaders/import-programs.js';

export interface StepInput {
  readonly buffer: GPUBuffer;
  /** First half of the keys and of the values. */
  readonly key: number;
  readonly value: number;
}

/** Queries where shaders can read them densely; `done` once the job is recorded. */
export interface QueryInput {
  readonly source: Bound;
  readonly type: TensorType;
  readonly done: () => void;
}

export interface ImportKernels {
  /** To f16, with a flag for what f16 cannot hold. */
  readonly half: Kernel;
  /** The same of runs of eight elements. */
  readonly aligned: Kernel;
  /** To f32. */
  readonly float: Kernel;
}

/** Where an imported tensor belongs, for the error that names its first bad element. */
export interface ImportPlace {
  readonly tensor: 'key' | 'value';
  readonly layer: number;
  /** The first head of the tensor, of so many that the caller gave. */
  readonly firstHead: number;
  readonly heads: number;
  readonly rows: AppendJob['rows'];
}

interface Flagged extends ImportPlace {
  readonly flag: number;
  readonly shape: readonly number[];
}

const LANES = 64;
const FLAGS = 4096;
const NO_FLAG = 0xffffffff;
const TYPES: readonly TensorType[] = ['f32', 'f16', 'bf16'];

export class InputPool {
  readonly #context: GpuContext;
  readonly #kernels: ImportKernels;
  readonly #checksFinite: boolean;
  readonly #used = new Map<number, GPUBuffer[]>();
  /** By step and layer, or part of one: a tensor may name a buffer whose contents change from layer to layer. */
  readonly #inputs = new Map<number, Map<number, StepInput>>();
  readonly #flagged = new Map<number, Flagged[]>();
  readonly #freeFlags: number[] = [];
  #flags: GPUBuffer | null = null;

  constructor(context: GpuContext, kernels: ImportKernels, nonFinite: 'error' | 'mask') {
    this.#context = context;
    this.#kernels = kernels;
    this.#checksFinite = nonFinite === 'error';
  }

  /** Keys and values of a layer, or part of one, of a step in one buffer, taken in when they are appended. */
  put(
    step: number,
    layer: number,
    key: Tensor,
    value: Tensor,
    place: Omit<ImportPlace, 'tensor'>,
  ): StepInput {
    const valueHalf = align(elementCount(key.shape), 8);
    const buffer = this.#context.inputs.take((valueHalf + elementCount(value.shape)) * 2);
    this.#keep(step, buffer);
    this.#put(step, buffer, 0, key, { ...place, tensor: 'key' });
    this.#put(step, buffer, valueHalf, value, { ...place, tensor: 'value' });
    const input = { buffer, key: 0, value: valueHalf };
    const inputs = this.#inputs.get(step) ?? new Map<number, StepInput>();
    this.#inputs.set(step, inputs.set(layer, input));
    return input;
  }

  /** What was put for a layer of a step. */
  get(step: number | null, layer: number): StepInput {
    const input = step === null ? undefined : this.#inputs.get(step)?.get(layer);
    if (input === undefined) throw new TypeError(`layer ${layer} of step ${step} has no input`);
    return input;
  }

  queryInput(query: Tensor): QueryInput {
    const { inputs, recorder, device } = this.#context;
    if (!isHostTensor(query)) {
      const layout = layoutOf(query);
      const offset = layout.offset * elementBytes(query.type);
      const bindable = offset % device.limits.minStorageBufferOffsetAlignment === 0;
      if (layout.dense && bindable)
        return {
          source: { buffer: layout.buffer, offset },
          type: query.type,
          done: () => undefined,
        };
    }
    const type = isHostTensor(query) ? query.type : 'f32';
    const buffer = inputs.take(elementCount(query.shape) * elementBytes(type));
    if (isHostTensor(query)) this.#write(buffer, 0, query);
    else this.#take(query, buffer, 0, this.#kernels.float, NO_FLAG);
    return {
      source: buffer,
      type,
      done: () => recorder.whenSubmitted(() => inputs.give(buffer)),
    };
  }

  /** Copies a tensor to dense f32. */
  copy(tensor: Tensor, buffer: GPUBuffer, word: number): void {
    this.#take(tensor, buffer, word, this.#kernels.float, NO_FLAG);
  }

  /** Whether tensors of the step are looked at on the device. */
  isChecked(step: number): boolean {
    return this.#flagged.has(step);
  }

  /** Throws NON_FINITE when a tensor of the step holds what f16 cannot. */
  async checkFinite(step: number): Promise<void> {
    const flagged = this.#flagged.get(step);
    if (flagged === undefined || this.#flags === null) return;
    const bytes = await this.#context.read(this.#flags, [{ offset: 0, size: FLAGS * 4 }]);
    const first = new Uint32Array(bytes.buffer, bytes.byteOffset, FLAGS);
    for (const entry of flagged) {
      const element = first[entry.flag] as number;
      if (element !== NO_FLAG) throw nonFinite(entry, element);
    }
  }

  /** The step is over. */
  release(step: number): void {
    const buffers = this.#used.get(step) ?? [];
    const flagged = this.#flagged.get(step) ?? [];
    this.#used.delete(step);
    this.#flagged.delete(step);
    this.#inputs.delete(step);
    if (buffers.length === 0 && flagged.length === 0) return;
    const { recorder, inputs, device } = this.#context;
    recorder.whenSubmitted(() => {
      for (const buffer of buffers) inputs.give(buffer);
      for (const { flag } of flagged) {
        if (this.#flags === null) return;
        device.queue.writeBuffer(this.#flags, flag * 4, new Uint32Array([NO_FLAG]));
        this.#freeFlags.push(flag);
      }
    });
  }

  dispose(): void {
    for (const step of [...this.#used.keys(), ...this.#flagged.keys()]) this.release(step);
    this.#flags?.destroy();
    this.#flags = null;
  }

  #put(step: number, buffer: GPUBuffer, half: number, tensor: Tensor, place: ImportPlace): void {
    if (isHostTensor(tensor)) {
      this.#write(buffer, half * 2, tensor);
      return;
    }
    let flag = NO_FLAG;
    if (this.#checksFinite) {
      flag = this.#flag();
      const flagged = this.#flagged.get(step) ?? [];
      flagged.push({ ...place, flag, shape: tensor.shape });
      this.#flagged.set(step, flagged);
    }
    const { half: each, aligned } = this.#kernels;
    this.#take(tensor, buffer, half / 2, isAligned(tensor) ? aligned : each, flag);
  }

  #write(buffer: GPUBuffer, byte: number, { data }: HostTensor): void {
    this.#context.device.queue.writeBuffer(buffer, byte, wholeWords(data));
  }

  #take(tensor: Tensor, buffer: GPUBuffer, word: number, kernel: Kernel, flag: number): void {
    const { recorder, nothing } = this.#context;
    const layout: GpuLayout = layoutOf(tensor);
    const [, heads = 1, dim = 1] = tensor.shape;
    const elements = elementCount(tensor.shape);
    const { float, aligned } = this.#kernels;
    const perLane = kernel === float ? 1 : kernel === aligned ? RUN_ELEMENTS : 2;
    const groups = Math.ceil(elements / (perLane * LANES));
    recorder.reserve(1, 12);
    recorder.dispatch({
      kernel,
      buffers: [layout.buffer, buffer, flag === NO_FLAG ? nothing : (this.#flags as GPUBuffer)],
      table: recorder.table([
        layout.offset,
        word,
        heads,
        dim,
        TYPES.indexOf(tensor.type),
        elements,
        Math.max(1, layout.tokensPerBatch),
        layout.batchStride,
        layout.tokenStride,
        layout.headStride,
        flag,
        layout.dense ? 1 : 0,
      ]),
      groups: [Math.min(LONGEST_X, groups), 1, Math.ceil(groups / LONGEST_X)],
    });
  }

  #flag(): number {
    if (this.#flags === null) {
      this.#flags = this.#context.device.createBuffer({
        label: 'lowbit-kv flags',
        size: FLAGS * 4,
        usage: 0x8c, // STORAGE | COPY_SRC | COPY_DST
      });
      this.#context.device.queue.writeBuffer(this.#flags, 0, new Uint32Array(FLAGS).fill(NO_FLAG));
      for (let flag = FLAGS - 1; flag >= 0; flag--) this.#freeFlags.push(flag);
    }
    const flag = this.#freeFlags.pop();
    if (flag !== undefined) return flag;
    throw new LowbitKvError('STEP_STATE', {
      message: 'too many tensors wait to be checked for non-finite values',
      value: FLAGS,
      valid: `${FLAGS / 2} layers of open steps`,
      next: 'Commit or abandon steps before new ones are opened.',
    });
  }

  #keep(step: number, buffer: GPUBuffer): void {
    const used = this.#used.get(step) ?? [];
    used.push(buffer);
    this.#used.set(step, used);
  }
}

/** Whether rows are aligned runs of eight elements. */
function isAligned(tensor: Tensor): boolean {
  const { offset, batchStride, tokenStride, headStride } = layoutOf(tensor);
  const dim = tensor.shape[2] ?? 1;
  return [offset, dim, batchStride, tokenStride, headStride].every(
    (count) => count % RUN_ELEMENTS === 0,
  );
}

function nonFinite(
  { tensor, layer, firstHead, heads: all, rows, shape }: Flagged,
  number: number,
): LowbitKvError {
  const [count = 0, heads = 1, dim = 1] = shape;
  const row = Math.floor(number / (heads * dim));
  const element = (row * all + firstHead) * dim + (number % (heads * dim));
  return nonFiniteError({ tensor, layer, rows, shape: [count, all, dim], element });
}

/** The queue writes multiples of four bytes. */
function wholeWords(data: HostTensor['data']): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  if (bytes.length % 4 === 0) return bytes;
  const padded = new Uint8Array(align(bytes.length, 4));
  padded.set(bytes);
  return padded;
}

function align(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
