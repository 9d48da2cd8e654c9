/**
 * Buffers that hold the keys and values of a step until it ends: f16, keys then values.
 */
import type { HostTensor, Tensor } from '@lowbit-kv/core';

export interface StepInput {
  readonly buffer: GPUBuffer;
  /** First half of the keys and of the values. */
  readonly key: number;
  readonly value: number;
}

export class InputPool {
  readonly #device: GPUDevice;
  readonly #free = new Map<number, GPUBuffer[]>();
  readonly #used = new Map<number, GPUBuffer[]>();
  readonly #inputs = new WeakMap<Tensor, StepInput>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Uploads the tensors of a step. Writes go through the queue, so a buffer of an earlier step can be used again. */
  upload(step: number, key: HostTensor, value: HostTensor): StepInput {
    const known = this.#inputs.get(key);
    if (known !== undefined) return known;
    const valueHalf = align(key.data.length, 8);
    const buffer = this.#take(step, (valueHalf + value.data.length) * 2);
    this.#device.queue.writeBuffer(buffer, 0, padded(key.data as Uint16Array));
    this.#device.queue.writeBuffer(buffer, valueHalf * 2, padded(value.data as Uint16Array));
    const input = { buffer, key: 0, value: valueHalf };
    this.#inputs.set(key, input);
    return input;
  }

  /** The step is over. */
  release(step: number): void {
    for (const buffer of this.#used.get(step) ?? []) this.#list(buffer.size).push(buffer);
    this.#used.delete(step);
  }

  dispose(): void {
    for (const buffers of [...this.#free.values(), ...this.#used.values()])
      for (const buffer of buffers) buffer.destroy();
    this.#free.clear();
    this.#used.clear();
  }

  #take(step: number, bytes: number): GPUBuffer {
    const size = 2 ** Math.ceil(Math.log2(Math.max(256, bytes)));
    const buffer =
      this.#list(size).pop() ??
      this.#device.createBuffer({ label: 'lowbit-kv input', size, usage: 0x88 });
    const used = this.#used.get(step) ?? [];
    used.push(buffer);
    this.#used.set(step, used);
    return buffer;
  }

  #list(size: number): GPUBuffer[] {
    let list = this.#free.get(size);
    if (list === undefined) {
      list = [];
      this.#free.set(size, list);
    }
    return list;
  }
}

/** The queue writes multiples of four bytes. */
function padded(halves: Uint16Array): Uint16Array {
  if (halves.length % 2 === 0) return halves;
  const result = new Uint16Array(halves.length + 1);
  result.set(halves);
  return result;
}

function align(value: number, multiple: number): number {
  return Math.ceil(value / multiple) * multiple;
}
