/**
 * Where attention leaves its results: memory of the caller, or of the pool until it was read.
 */
import {
  type AttentionResult,
  elementCount,
  f32Tensor,
  type HostTensor,
  LowbitKvError,
  type Tensor,
} from '@lowbit-kv/core';
import { cudaTensor, placeOf } from '../cuda-tensor.js';
import type { DeviceMemory, DeviceRange } from '../driver/device-memory.js';
import { disposeAll } from '../driver/dispose-all.js';
import type { Stream } from '../driver/stream.js';
import type { BufferPool } from './buffer-pool.js';
import { readRanges } from './readback.js';

/** f32, dense. */
export interface Target {
  readonly shape: readonly number[];
  readonly range: DeviceRange;
  /** Of the pool; else the caller's tensor. */
  readonly memory: DeviceMemory | undefined;
  readonly tensor: Tensor | undefined;
  /** Of `memory`: `taken` by a caller who asked for the handle, or `given` back to the pool. */
  state: 'held' | 'taken' | 'given';
}

/** Kernels write 8 bytes at a time. */
const ALIGNMENT = 8n;

export class Results {
  readonly #stream: Stream;
  readonly #pool: BufferPool;
  /** What somebody may still read. */
  readonly #out = new Set<Target>();
  /** Results that nobody can read any more. */
  readonly #dropped = new FinalizationRegistry<readonly Target[]>((targets) => {
    for (const target of targets) this.release(target);
  });

  constructor(stream: Stream, pool: BufferPool) {
    this.#stream = stream;
    this.#pool = pool;
  }

  /** Throws TENSOR_INVALID for memory that attention cannot write to. */
  target(into: Tensor | undefined, shape: readonly number[]): Target {
    const state = 'held';
    if (into === undefined) {
      const memory = this.#pool.take(Math.max(4, 4 * elementCount(shape)));
      const target: Target = { shape, range: memory.all, memory, tensor: undefined, state };
      this.#out.add(target);
      return target;
    }
    const { range, type, dense } = placeOf(into, this.#stream.context);
    if (type !== 'f32' || !dense || range.pointer % ALIGNMENT !== 0n) {
      throw new LowbitKvError('TENSOR_INVALID', {
        message: 'attention cannot write to this tensor',
        value: { type, dense, pointer: range.pointer },
        valid: `f32, dense, beginning at a multiple of ${ALIGNMENT} bytes`,
        next: 'Give a tensor of its own for the output, and convert or copy it afterwards.',
      });
    }
    return { shape, range, memory: undefined, tensor: into, state };
  }

  result(output: Target, logSumExp: Target | undefined): AttentionResult {
    // What is collected when neither the result nor its tensors are reachable.
    const held = { targets: logSumExp === undefined ? [output] : [output, logSumExp] };
    if (held.targets.some(({ memory }) => memory !== undefined))
      this.#dropped.register(held, held.targets);
    const tensor = (number: number): Tensor => {
      const { tensor: own, shape } = held.targets[number] as Target;
      if (own !== undefined) return own;
      return {
        type: 'f32',
        shape,
        device: 'cuda',
        get handle() {
          return handleOf(held.targets[number] as Target);
        },
      };
    };
    let reading: ReturnType<AttentionResult['read']> | undefined;
    return {
      output: tensor(0),
      logSumExp: logSumExp && tensor(1),
      // Once: the memory may hold another result afterwards.
      read: async () => {
        reading ??= this.#read(held).catch((error) => {
          reading = undefined;
          throw error;
        });
        return reading;
      },
    };
  }

  /** Takes the object that is collected, which must not happen before the end. */
  async #read(held: { readonly targets: readonly Target[] }): ReturnType<AttentionResult['read']> {
    const host: HostTensor[] = [];
    for (const { range, shape, state } of held.targets) {
      if (state === 'given') throw gone(shape);
      const bytes = await readRanges(this.#stream, [range.range(0, 4 * elementCount(shape))]);
      host.push(f32Tensor(new Float32Array(bytes.buffer), shape));
    }
    for (const target of held.targets) this.release(target);
    return { output: host[0] as HostTensor, logSumExp: host[1] };
  }

  /** Nobody needs it any more, unless its handle was taken. */
  release(target: Target | undefined): void {
    if (target?.memory === undefined || target.state !== 'held') return;
    target.state = 'given';
    this.#out.delete(target);
    this.#pool.give(target.memory);
  }

  /** Results that were not read are gone, and memory that was taken is freed. */
  dispose(): void {
    const taken = [...this.#out].filter(({ state }) => state === 'taken');
    for (const target of this.#out) this.release(target);
    this.#out.clear();
    disposeAll(taken.map(({ memory }) => ({ dispose: () => memory && this.#pool.free(memory) })));
  }
}

/** Memory whose handle was asked for is somebody's: it is not used again before the cache is disposed. */
function handleOf(target: Target): unknown {
  const { range, shape } = target;
  if (target.state === 'given') throw gone(shape);
  target.state = 'taken';
  return cudaTensor(range, { type: 'f32', shape }).handle;
}

function gone(shape: readonly number[]): LowbitKvError {
  return new LowbitKvError('DEVICE_RESOURCE_STATE', {
    message: 'the memory of a result was given back: it was read, or its cache disposed',
    value: shape,
    valid: 'a result that was not read, or whose handle was taken before, of a cache in use',
    next: 'Take the handle before `read`, or give `into`.',
  });
}
