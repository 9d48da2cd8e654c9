/**
 * What all caches of a backend share on its device: pipelines, the recorder, pools of buffers, scratch.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { BufferPool } from './buffer-pool.js';
import { GrowingBuffer } from './growing-buffer.js';
import { Pipelines } from './pipelines.js';
import { Recorder, type Submission } from './recorder.js';

export class GpuContext {
  readonly device: GPUDevice;
  readonly pipelines: Pipelines;
  readonly recorder: Recorder;
  /** Keys, values and queries on their way in. */
  readonly inputs: BufferPool;
  readonly results: BufferPool;
  readonly staging: BufferPool;
  /** Rows that packing goes through. */
  readonly scratch: GrowingBuffer;
  readonly prepared: GrowingBuffer;
  readonly partials: GrowingBuffer;
  readonly nothing: GPUBuffer;
  #lost: GPUDeviceLostInfo | null = null;
  #disposed = false;

  constructor(device: GPUDevice) {
    this.device = device;
    this.pipelines = new Pipelines(device);
    this.recorder = new Recorder(device);
    this.inputs = new BufferPool(device, 'lowbit-kv input', 0x88); // STORAGE | COPY_DST
    this.results = new BufferPool(device, 'lowbit-kv result', 0x84); // STORAGE | COPY_SRC
    this.staging = new BufferPool(device, 'lowbit-kv read-back', 0x9); // MAP_READ | COPY_DST
    this.scratch = new GrowingBuffer(device, this.recorder, 'lowbit-kv scratch');
    this.prepared = new GrowingBuffer(device, this.recorder, 'lowbit-kv queries');
    this.partials = new GrowingBuffer(device, this.recorder, 'lowbit-kv partial results');
    this.nothing = device.createBuffer({ label: 'lowbit-kv nothing', size: 16, usage: 0x80 });
    void device.lost.then((info) => {
      this.#lost = info;
    });
  }

  /** Throws BACKEND_FAILED when the device is gone. */
  check(): void {
    if (this.#lost === null && !this.#disposed) return;
    throw new LowbitKvError('BACKEND_FAILED', {
      message: this.#disposed ? 'the backend was disposed' : 'the GPU device was lost',
      value: this.#lost?.message || this.#lost?.reason,
      valid: 'a device that works',
      next: 'Request a new device, make a backend on it, and restore the cache from its last snapshot.',
    });
  }

  /** Throws BACKEND_FAILED when the device is gone, or found an error in one of these submissions. */
  async checkErrors(submissions: Iterable<Submission>): Promise<void> {
    this.check();
    const errors = await Promise.all([...submissions].map((submission) => submission.error()));
    this.check();
    const error = errors.find((found) => found !== null);
    if (error === undefined) return;
    throw new LowbitKvError('BACKEND_FAILED', {
      message: 'the GPU refused work',
      value: error.message,
      valid: 'buffers that live until their work is submitted, and memory for it',
      next: 'Check that no buffer was destroyed or mapped too early; nothing of this step is stored, nor of steps that were submitted with it.',
    });
  }

  /** Bytes of a buffer, once what is recorded has run. `ranges` are multiples of 4. */
  async read(
    buffer: GPUBuffer,
    ranges: readonly { readonly offset: number; readonly size: number }[],
  ): Promise<Uint8Array> {
    const total = ranges.reduce((sum, { size }) => sum + size, 0);
    if (total === 0) return new Uint8Array(0);
    this.check();
    this.recorder.submit();
    const staging = this.staging.take(total);
    const encoder = this.device.createCommandEncoder();
    let at = 0;
    for (const { offset, size } of ranges) {
      encoder.copyBufferToBuffer(buffer, offset, staging, at, size);
      at += size;
    }
    this.device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(1, 0, total); // GPUMapMode.READ
      return new Uint8Array(staging.getMappedRange(0, total)).slice();
    } catch (cause) {
      this.check();
      throw new LowbitKvError('BACKEND_FAILED', {
        message: 'results could not be read back',
        value: cause instanceof Error ? cause.message : cause,
        valid: 'a device that works',
        next: 'Look at the error of the device; request a new device if it is lost.',
        cause,
      });
    } finally {
      staging.unmap();
      if (this.#disposed) staging.destroy();
      else this.staging.give(staging);
    }
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const part of [
      this.inputs,
      this.results,
      this.staging,
      this.scratch,
      this.prepared,
      this.partials,
      this.recorder,
    ])
      part.dispose();
    this.nothing.destroy();
  }
}
