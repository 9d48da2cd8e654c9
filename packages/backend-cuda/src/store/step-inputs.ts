/**
 * Keys and values of steps until they end, f16 and dense, and queries of a job.
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
import { placeOf, type TensorPlace } from '../cuda-tensor.js';
import type { DeviceMemory, DeviceRange } from '../driver/device-memory.js';
import type { Stream } from '../driver/stream.js';
import type { UploadRing } from '../driver/upload-ring.js';
import type { BufferPool } from './buffer-pool.js';
import type { Moves } from './moves.js';
import type { Failure, StepFlags } from './step-flags.js';
import { noRoom, notCapturable, type StepSession } from './step-session.js';

/** Kernels read 16 bytes at a time. */
const ALIGNMENT = 16n;
/** Elements that a fault can name. */
const MOST_ELEMENTS = 2 ** 32 - 1;

/** f16 `[rows, kvHeads, headDim]`, dense. */
export interface StepInput {
  readonly key: DeviceRange;
  readonly value: DeviceRange;
  readonly checks: Readonly<Record<'key' | 'value', ValueCheck | undefined>>;
}

/** Numbers that the append looks at: the first ones of a tensor. */
export interface ValueCheck {
  /** Address of the word that becomes the smallest number of an element that is not finite. */
  readonly flag: bigint;
  readonly elements: number;
}

interface TensorInput {
  readonly range: DeviceRange;
  readonly check: ValueCheck | undefined;
}

/** Dense queries, beginning at a multiple of 16 bytes; `done` once the job is enqueued. */
export interface QueryInput {
  readonly range: DeviceRange;
  readonly type: TensorType;
  readonly done: () => void;
}

export interface StepInputsOptions {
  readonly stream: Stream;
  readonly ring: UploadRing;
  readonly pool: BufferPool;
  readonly moves: Moves;
  readonly flags: StepFlags;
  readonly nonFinite: 'error' | 'mask';
}

export class StepInputs {
  readonly #options: StepInputsOptions;
  readonly #used = new Map<number, DeviceMemory[]>();
  readonly #inputs = new Map<number, Map<number, StepInput>>();

  constructor(options: StepInputsOptions) {
    this.#options = options;
  }

  /** Keys and values of a job. Host tensors are copied now; device tensors are read where they are, if they are dense f16. */
  put(job: AppendJob, layer: number, session: StepSession | undefined): StepInput {
    const take = (name: 'key' | 'value') => this.#take(job, layer, name, session);
    const [key, value] = [take('key'), take('value')];
    const checks = { key: key.check, value: value.check };
    const input = { key: key.range, value: value.range, checks };
    const inputs = this.#inputs.get(job.step) ?? new Map<number, StepInput>();
    this.#inputs.set(job.step, inputs.set(job.layer, input));
    return input;
  }

  /** What was put for a layer of a step. */
  get(step: number | null, layer: number): StepInput | undefined {
    return step === null ? undefined : this.#inputs.get(step)?.get(layer);
  }

  queries(query: Tensor, session: StepSession | undefined): QueryInput {
    const { stream, ring, pool, moves } = this.#options;
    if (!isHostTensor(query)) {
      const { range, type, dense } = placeOf(query, stream.context);
      if (dense && range.pointer % ALIGNMENT === 0n) return { range, type, done: () => undefined };
    }
    if (session !== undefined) throw moved('queries', 'dense queries');
    const type = isHostTensor(query) ? query.type : 'f32';
    const memory = pool.take(Math.max(4, elementCount(query.shape) * elementBytes(type)));
    const done = () => pool.give(memory);
    try {
      if (isHostTensor(query)) ring.upload(stream, memory.all, hostBytes(query));
      else moves.import(stream, query, memory.pointer, 'f32', 0n);
    } catch (error) {
      done();
      throw error;
    }
    return { range: memory.all, type, done };
  }

  /** The step is over. */
  release(step: number): void {
    for (const memory of this.#used.get(step) ?? []) this.#options.pool.give(memory);
    this.#used.delete(step);
    this.#inputs.delete(step);
  }

  /** Steps that are open are over. */
  dispose(): void {
    for (const step of [...this.#used.keys()]) this.release(step);
  }

  #take(
    job: AppendJob,
    layer: number,
    name: 'key' | 'value',
    session: StepSession | undefined,
  ): TensorInput {
    const { stream, ring, moves, flags, nonFinite } = this.#options;
    const tensor = job[name];
    const elements = elementCount(tensor.shape);
    if (isHostTensor(tensor)) {
      if (session !== undefined) throw moved(`${name}s`, 'dense f16');
      const { all } = this.#memory(job.step, 2 * elements);
      ring.upload(stream, all, hostBytes(tensor));
      return { range: all, check: undefined };
    }
    if (nonFinite === 'error' && elements > MOST_ELEMENTS) throw tooLarge(elements);
    const place = placeOf(tensor, stream.context);
    const { range, type, dense } = place;
    const isReady = dense && type === 'f16' && range.pointer % ALIGNMENT === 0n;
    if (session !== undefined && !isReady) throw moved(`${name}s`, 'dense f16');
    const { rows } = job;
    const { shape } = tensor;
    const failure = (element: number) =>
      nonFiniteError({ tensor: name, layer, rows, shape, element });
    const isChecked = nonFinite === 'error' && elements > 0;
    if (session !== undefined) {
      const names = `${name} of ${layer}`;
      const check = isChecked
        ? this.#captured(place, names, job.step, failure, session)
        : undefined;
      return { range, check };
    }
    const flag = isChecked ? flags.register(job.step, failure) : 0n;
    if (isReady) return { range, check: isChecked ? { flag, elements } : undefined };
    const { all } = this.#memory(job.step, 2 * elements);
    moves.import(stream, tensor, all.pointer, 'f16', flag);
    return { range: all, check: undefined };
  }

  /**
   * Kernels of a captured step look at as many rows as one of its runs can have, whatever is there: numbers behind the rows of
   * a run say nothing.
   */
  #captured(
    { range, shape }: TensorPlace,
    name: string,
    step: number,
    failure: Failure,
    session: StepSession,
  ): ValueCheck {
    const width = elementCount(shape.slice(1));
    const end = elementCount(shape);
    const rows = session.limit(name, () =>
      Math.min(
        session.options.rows,
        Math.floor(range.bytes / (2 * width)),
        Math.floor(MOST_ELEMENTS / width),
      ),
    );
    if (end > rows * width) throw noRoom(`${shape[0]} rows of ${name}`, `at most ${rows}`);
    const flag = this.#options.flags.register(step, failure, { session, name, end });
    return { flag, elements: rows * width };
  }

  #memory(step: number, bytes: number): DeviceMemory {
    const memory = this.#options.pool.take(Math.max(4, bytes));
    const used = this.#used.get(step) ?? [];
    this.#used.set(step, used);
    used.push(memory);
    return memory;
  }
}

function hostBytes({ data }: HostTensor): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** For tensors that kernels of a captured step cannot read where they are. */
function moved(name: string, needed: string): LowbitKvError {
  return notCapturable(
    `${name} that are not read where they are`,
    `Give ${needed} tensors in device memory that begin at multiples of 16 bytes.`,
  );
}

function tooLarge(elements: number): LowbitKvError {
  return new LowbitKvError('TENSOR_INVALID', {
    message: 'a tensor has more elements than one append checks',
    value: elements,
    valid: `at most ${MOST_ELEMENTS}`,
    next: 'Append the tokens in several steps.',
  });
}
