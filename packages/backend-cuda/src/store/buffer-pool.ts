/**
 * Device memory that is used again and again, in the order of one stream: what is given back may still be read by work
 * that was enqueued before. What nobody uses is freed when the card has no memory for something else.
 */
import type { Context } from '../driver/context.js';
import { DeviceMemory } from '../driver/device-memory.js';

const SMALLEST = 256;

export class BufferPool {
  readonly #context: Context;
  /** By size, a power of two or one and a half of one. */
  readonly #free = new Map<number, DeviceMemory[]>();
  #bytes = 0;

  constructor(context: Context) {
    this.#context = context;
    context.onMemoryPressure(() => this.#shrink());
  }

  /** Held, in use or not. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Of `bytes`, what was taken and not given back. */
  get usedBytes(): number {
    const free = [...this.#free.values()].flat();
    return free.reduce((bytes, memory) => bytes - memory.bytes, this.#bytes);
  }

  /** At least so many bytes. Throws DEVICE_OUT_OF_MEMORY. */
  take(bytes: number): DeviceMemory {
    const size = sizeFor(bytes);
    const found = this.#free.get(size)?.pop();
    if (found !== undefined) return found;
    const memory = DeviceMemory.allocate(this.#context, size);
    this.#bytes += size;
    return memory;
  }

  give(memory: DeviceMemory): void {
    if (memory.disposed) return;
    const list = this.#free.get(memory.bytes) ?? [];
    this.#free.set(memory.bytes, list);
    list.push(memory);
  }

  /** Frees what was taken instead of giving it back. */
  free(memory: DeviceMemory): void {
    if (memory.disposed) return;
    this.#bytes -= memory.bytes;
    memory.dispose();
  }

  /** Frees what nobody uses; false when there was nothing. */
  #shrink(): boolean {
    const all = [...this.#free.values()].flat();
    this.#free.clear();
    for (const memory of all) this.free(memory);
    return all.length > 0;
  }

  /** What is still out is freed with the context. */
  dispose(): void {
    this.#shrink();
  }
}

function sizeFor(bytes: number): number {
  let size = SMALLEST;
  while (size < bytes) size *= 2;
  return size > SMALLEST && 0.75 * size >= bytes ? 0.75 * size : size;
}
