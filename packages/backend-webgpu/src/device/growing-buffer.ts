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

  atLeast(bytes: number): GPUBuffer {
    const old = this.#buffer;
    if (old !== null && old.size >= bytes) return old;
    if (old !== null) {
      // What is recorded still uses it.
      this.#recorder.whenSubmitted(() => {
        this.#recorder.release(old);
        old.destroy();
      });
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
