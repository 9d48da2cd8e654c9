/**
 * A scratch buffer that is replaced by a larger one when a job needs it.
 */
import type { Recorder } from './recorder.js';

export class GrowingBuffer {
  readonly #device: GPUDevice;
  readonly #recorder: Recorder;
  readonly #label: string;
  #buffer: GPUBuffer | null = null;

  constructor(device: GPUDevice, recorder: Recorder, label: string) {
    this.#device = device;
    this.#recorder = recorder;
    this.#label = label;
  }

  get size(): number {
    return this.#buffer?.size ?? 0;
  }

  atLeast(bytes: number): GPUBuffer {
    if (this.#buffer !== null && this.#buffer.size >= bytes) return this.#buffer;
    if (this.#buffer !== null) {
      // What is recorded still uses it.
      this.#recorder.submit();
      this.#recorder.release(this.#buffer);
      this.#buffer.destroy();
    }
    this.#buffer = this.#device.createBuffer({
      label: this.#label,
      size: 2 ** Math.ceil(Math.log2(Math.max(4096, bytes))),
      usage: 0x80, // STORAGE
    });
    return this.#buffer;
  }

  dispose(): void {
    this.#buffer?.destroy();
    this.#buffer = null;
  }
}
