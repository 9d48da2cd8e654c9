/**
 * Where attention leaves its results: memory of the caller, or of the pool until it was read.
 */
import {
  type AttentionResult,
  f32Tensor,
  type HostTensor,
  LowbitKvError,
  type Tensor,
} from '@lowbit-kv/core';
import { cudaTensor, elementsIn, placeOf } from '../cuda-tensor.js';
import type { DeviceMemory, DeviceRange } from '../driver/device-memory.js';
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
}

/** Kernels write 8 bytes at a time. */
const ALIGNMENT = 8n;

export class Results {
  readonly #stream: Stream;
  readonly #pool: BufferPool;
  /** What somebody may still read. */
  readonly #out = new Set<DeviceMemory>();

  constructor(stream: Stream, pool: BufferPool) {
    this.#stream = stream;
    this.#pool = pool;
  }

  /** Throws TENSOR_INVALID for memory that attention cannot write to. */
  target(into: Tensor | undefined, shape: readonly number[]): Target {
    if (into === undefined) {
      const memory = this.#pool.take(Math.max(4, 4 * elementsIn(shape)));
      this.#out.add(memory);
      return { shape, range: memory.all, memory, tensor: undefined };
    }
    const { range, type, dense } = placeOf(into);
    if (type !== 'f32' || !dense || range.pointer % ALIGNMENT !== 0n) {
      throw new LowbitKvError('TENSOR_INVALID', {
        message: 'attention cannot write to this tensor',
        value: { type, dense, pointer: range.pointer },
        valid: `f32, dense, beginning at a multiple of ${ALIGNMENT} bytes`,
        next: 'Give a tensor of its own for the output, and convert or copy it afterwards.',
      });
    }
    return { shape, range, memory: undefined, tensor: into };
  }

  result(output: Target, logSumExp: Target | undefined): AttentionResult {
    const targets = logSumExp === undefined ? [output] : [output, logSumExp];
    // Memory whose handle was asked for is somebody's: it is not used again before the cache is disposed.
    const taken = new Set<Target>();
    const tensor = (target: Target): Tensor =>
      target.tensor ?? {
        type: 'f32',
        shape: target.shape,
        device: 'cuda',
        get handle() {
          taken.add(target);
          return cudaTensor(target.range, { type: 'f32', shape: target.shape }).handle;
        },
      };
    let reading: ReturnType<AttentionResult['read']> | undefined;
    const read = async () => {
      const host: HostTensor[] = [];
      for (const { range, shape } of targets) {
        const bytes = await readRanges(this.#stream, [range.range(0, 4 * elementsIn(shape))]);
        host.push(f32Tensor(new Float32Array(bytes.buffer), shape));
      }
      for (const target of targets) if (!taken.has(target)) this.#release(target);
      return { output: host[0] as HostTensor, logSumExp: host[1] };
    };
    return {
      output: tensor(output),
      logSumExp: logSumExp && tensor(logSumExp),
      // Once: the memory may hold another result afterwards.
      read: async () => {
        reading ??= read();
        return reading;
      },
    };
  }

  #release({ memory }: Target): void {
    if (memory === undefined || !this.#out.delete(memory)) return;
    this.#pool.give(memory);
  }

  /** Results that were not read are gone. */
  dispose(): void {
    for (const memory of this.#out) memory.dispose();
    this.#out.clear();
  }
}
