/**
 * Tables of the work of a step in device memory: layers whose pages have the same sizes share them.
 */
import type { DeviceMemory } from '../driver/device-memory.js';
import type { Stream } from '../driver/stream.js';
import type { UploadRing } from '../driver/upload-ring.js';
import type { BufferPool } from './buffer-pool.js';

export class SharedTables {
  readonly #stream: Stream;
  readonly #ring: UploadRing;
  readonly #pool: BufferPool;
  /** By what they are made of, then by the sizes that they depend on. */
  readonly #known = new WeakMap<object, Map<string, DeviceMemory>>();
  readonly #used = new Map<number, DeviceMemory[]>();

  constructor(stream: Stream, ring: UploadRing, pool: BufferPool) {
    this.#stream = stream;
    this.#ring = ring;
    this.#pool = pool;
  }

  /** Address of the words that `make` gives of `work`, an object of the step. Valid until the step is released. */
  of(step: number, work: object, sizes: string, make: () => Uint32Array): bigint {
    const known = this.#known.get(work) ?? new Map<string, DeviceMemory>();
    this.#known.set(work, known);
    let memory = known.get(sizes);
    if (memory === undefined) {
      const words = make();
      memory = this.#pool.take(Math.max(4, words.byteLength));
      known.set(sizes, memory);
      const used = this.#used.get(step) ?? [];
      this.#used.set(step, used);
      used.push(memory);
      const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
      this.#ring.upload(this.#stream, memory.all, bytes);
    }
    return memory.pointer;
  }

  /** The step is over: no work comes any more that reads its tables. */
  release(step: number): void {
    for (const memory of this.#used.get(step) ?? []) this.#pool.give(memory);
    this.#used.delete(step);
  }

  /** Steps that are open are over. */
  dispose(): void {
    for (const step of [...this.#used.keys()]) this.release(step);
  }
}
