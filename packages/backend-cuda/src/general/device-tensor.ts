/**
 * The numbers of a tensor plan in device memory, for general kernels of this tensor.
 */
import type { TensorPlan } from '@lowbit-kv/core';
import type { Context } from '../driver/context.js';
import { DeviceMemory } from '../driver/device-memory.js';
import { type TensorNumbers, type TensorTraits, tensorNumbers } from './tensor-numbers.js';

export class DeviceTensor {
  readonly #numbers: TensorNumbers;
  readonly #memory: DeviceMemory;

  /** As `tensorNumbers`. Throws PLAN_REFUSED for plans that general kernels do not run, DEVICE_OUT_OF_MEMORY. */
  constructor(context: Context, plan: TensorPlan, traits: TensorTraits = {}) {
    this.#numbers = tensorNumbers(plan, traits);
    const { table } = this.#numbers;
    this.#memory = DeviceMemory.allocate(context, table.byteLength);
    try {
      this.#memory.all.upload(new Uint8Array(table.buffer));
    } catch (error) {
      this.#memory.dispose();
      throw error;
    }
  }

  get bytes(): number {
    return this.#memory.bytes;
  }

  /** Writes the struct GeneralTensor at a byte of a job. */
  write(job: DataView, at: number): void {
    this.#numbers.write(job, at, this.#memory.pointer);
  }

  /** Launches that read it must have run. */
  dispose(): void {
    this.#memory.dispose();
  }
}
