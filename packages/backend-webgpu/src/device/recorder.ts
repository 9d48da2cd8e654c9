/**
 * Records dispatches and submits them. What a dispatch is told travels through two rings: numbers of its own (a uniform
 * with a dynamic offset) and tables (commands). Both are written in one piece when the encoder is submitted.
 */
import { JOB_BYTES, type Kernel } from './pipelines.js';

/** A uniform offset is a multiple of this on every device. */
const JOB_STRIDE = 256;
const JOBS = 1024;
const COMMAND_WORDS = 1 << 18;
/** Workgroups along x; what is more goes along z. */
export const LONGEST_X = 32768;

export interface Dispatch {
  readonly kernel: Kernel;
  /** Bindings from number 2 on. */
  readonly buffers: readonly GPUBuffer[];
  /** Index into the commands of this submission. */
  readonly table: number;
  readonly entries?: number;
  readonly first?: number;
  readonly groups: readonly [number, number, number];
}

export class Recorder {
  readonly #device: GPUDevice;
  readonly #jobs: GPUBuffer;
  #commands: GPUBuffer;
  readonly #jobWords = new Uint32Array((JOBS * JOB_STRIDE) / 4);
  #commandWords = new Uint32Array(COMMAND_WORDS);
  #jobCount = 0;
  #commandCount = 0;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  readonly #bindGroups = new Map<string, GPUBindGroup>();
  readonly #ids = new WeakMap<object, number>();
  #nextId = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
    this.#jobs = device.createBuffer({
      label: 'lowbit-kv jobs',
      size: JOBS * JOB_STRIDE,
      usage: 0x48, // UNIFORM | COPY_DST
    });
    this.#commands = this.#commandBuffer(COMMAND_WORDS);
  }

  /**
   * Makes room for a job of so many dispatches and table words, submitting what is recorded when it does not fit beside
   * it. Indices that `table` gave before are void then, so call it before the first `table` of a job.
   */
  reserve(dispatches: number, words: number): void {
    if (
      this.#jobCount + dispatches > JOBS ||
      this.#commandCount + words > this.#commandWords.length
    )
      this.submit();
    if (words <= this.#commandWords.length) return;
    const size = 2 ** Math.ceil(Math.log2(words));
    this.#commands.destroy();
    this.#commandWords = new Uint32Array(size);
    this.#commands = this.#commandBuffer(size);
    this.#bindGroups.clear();
  }

  /** Puts words into the commands; returns the index of the first. */
  table(words: ArrayLike<number>): number {
    const first = this.#commandCount;
    this.#commandWords.set(words, first);
    this.#commandCount += words.length;
    return first;
  }

  dispatch({ kernel, buffers, table, entries = 0, first = 0, groups }: Dispatch): void {
    if (groups.includes(0)) return;
    const at = this.#jobCount++ * (JOB_STRIDE / 4);
    this.#jobWords.set([table, entries, 0, first], at);
    const pass = this.#computePass();
    pass.setPipeline(kernel.pipeline);
    pass.setBindGroup(0, this.#bindGroup(kernel, buffers), [at * 4]);
    pass.dispatchWorkgroups(...groups);
  }

  copy(
    source: GPUBuffer,
    sourceOffset: number,
    target: GPUBuffer,
    offset: number,
    size: number,
  ): void {
    this.#endPass();
    this.#openEncoder().copyBufferToBuffer(source, sourceOffset, target, offset, size);
  }

  submit(): void {
    if (this.#encoder === null) return;
    this.#endPass();
    const { queue } = this.#device;
    if (this.#jobCount > 0)
      queue.writeBuffer(this.#jobs, 0, this.#jobWords, 0, (this.#jobCount * JOB_STRIDE) / 4);
    if (this.#commandCount > 0)
      queue.writeBuffer(this.#commands, 0, this.#commandWords, 0, this.#commandCount);
    queue.submit([this.#encoder.finish()]);
    this.#encoder = null;
    this.#jobCount = 0;
    this.#commandCount = 0;
  }

  /** Forgets bind groups of a buffer that is about to be destroyed. */
  release(buffer: GPUBuffer): void {
    const id = String(this.#idOf(buffer));
    for (const key of this.#bindGroups.keys())
      if (key.split(',').includes(id)) this.#bindGroups.delete(key);
  }

  dispose(): void {
    this.#encoder = null;
    this.#pass = null;
    this.#bindGroups.clear();
    this.#jobs.destroy();
    this.#commands.destroy();
  }

  #commandBuffer(words: number): GPUBuffer {
    const usage = 0x88; // STORAGE | COPY_DST
    return this.#device.createBuffer({ label: 'lowbit-kv commands', size: words * 4, usage });
  }

  #bindGroup(kernel: Kernel, buffers: readonly GPUBuffer[]): GPUBindGroup {
    const key = [kernel.layout, ...buffers].map((object) => this.#idOf(object)).join();
    let group = this.#bindGroups.get(key);
    if (group === undefined) {
      group = this.#device.createBindGroup({
        layout: kernel.layout,
        entries: [
          { binding: 0, resource: { buffer: this.#jobs, size: JOB_BYTES } },
          ...[this.#commands, ...buffers].map((buffer, i) => ({
            binding: i + 1,
            resource: { buffer },
          })),
        ],
      });
      this.#bindGroups.set(key, group);
    }
    return group;
  }

  #idOf(object: object): number {
    let id = this.#ids.get(object);
    if (id === undefined) {
      id = this.#nextId++;
      this.#ids.set(object, id);
    }
    return id;
  }

  /** Opens a pass that writes the time of its begin and end to two queries. */
  timedPass(querySet: GPUQuerySet, first: number): void {
    this.#endPass();
    this.#pass = this.#openEncoder().beginComputePass({
      timestampWrites: {
        querySet,
        beginningOfPassWriteIndex: first,
        endOfPassWriteIndex: first + 1,
      },
    });
  }

  #computePass(): GPUComputePassEncoder {
    this.#pass ??= this.#openEncoder().beginComputePass();
    return this.#pass;
  }

  #endPass(): void {
    this.#pass?.end();
    this.#pass = null;
  }

  #openEncoder(): GPUCommandEncoder {
    this.#encoder ??= this.#device.createCommandEncoder();
    return this.#encoder;
  }
}
