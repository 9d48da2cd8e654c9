/**
 * Faults that kernels find: a buffer per step with the number of the first job that failed, and of its head.
 */
import type { LowbitKvError } from '@lowbit-kv/core';

const BYTES = 16;
const NONE = 0xffffffff;

/** What a failed job says, by head. */
export type Failure = (head: number) => LowbitKvError;

interface Slot {
  readonly buffer: GPUBuffer;
  readonly staging: GPUBuffer;
  readonly failures: Failure[];
}

export class StepFaults {
  readonly #device: GPUDevice;
  readonly #free: Slot[] = [];
  readonly #used = new Map<number, Slot>();
  #disposed = false;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** The buffer in which a job of a step leaves `number * 65536 + head`, the smallest of all. */
  register(
    step: number,
    failure: Failure,
  ): { readonly buffer: GPUBuffer; readonly number: number } {
    let slot = this.#used.get(step);
    if (slot === undefined) {
      slot = this.#free.pop() ?? this.#create();
      this.#used.set(step, slot);
    }
    return { buffer: slot.buffer, number: slot.failures.push(failure) - 1 };
  }

  isChecked(step: number): boolean {
    return this.#used.has(step);
  }

  /** Waits for what is submitted; throws the first fault of a step. */
  async check(step: number): Promise<void> {
    const slot = this.#used.get(step);
    if (slot === undefined) return;
    const { buffer, staging, failures } = slot;
    const encoder = this.#device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, staging, 0, BYTES);
    this.#device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(1); // GPUMapMode.READ
    } catch (error) {
      // Core says that the cache was disposed.
      if (this.#disposed) return;
      throw error;
    }
    const [found = NONE] = new Uint32Array(staging.getMappedRange());
    staging.unmap();
    const failure = failures[Math.floor(found / 65536)];
    this.forget(step);
    if (found !== NONE && failure !== undefined) throw failure(found % 65536);
  }

  /** What is submitted may still write to the buffer: it is cleared behind that. */
  forget(step: number): void {
    const slot = this.#used.get(step);
    if (slot === undefined) return;
    this.#used.delete(step);
    slot.failures.length = 0;
    this.#clear(slot);
    this.#free.push(slot);
  }

  dispose(): void {
    this.#disposed = true;
    for (const { buffer, staging } of [...this.#free, ...this.#used.values()]) {
      buffer.destroy();
      staging.destroy();
    }
    this.#free.length = 0;
    this.#used.clear();
  }

  #create(): Slot {
    const buffer = this.#device.createBuffer({
      label: 'lowbit-kv faults',
      size: BYTES,
      usage: 0x8c,
    });
    const staging = this.#device.createBuffer({
      label: 'lowbit-kv faults',
      size: BYTES,
      usage: 0x9,
    });
    const slot = { buffer, staging, failures: [] };
    this.#clear(slot);
    return slot;
  }

  #clear({ buffer }: Slot): void {
    this.#device.queue.writeBuffer(buffer, 0, new Uint32Array(BYTES / 4).fill(NONE));
  }
}
