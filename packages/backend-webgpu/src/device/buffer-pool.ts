/**
 * Buffers of one usage that are used again: sizes are powers of two.
 */
const SMALLEST = 256;

export class BufferPool {
  readonly #device: GPUDevice;
  readonly #label: string;
  readonly #usage: GPUBufferUsageFlags;
  readonly #free = new Map<number, GPUBuffer[]>();

  constructor(device: GPUDevice, label: string, usage: GPUBufferUsageFlags) {
    this.#device = device;
    this.#label = label;
    this.#usage = usage;
  }

  /** A buffer of at least so many bytes; its contents are what the last user left. */
  take(bytes: number): GPUBuffer {
    const size = 2 ** Math.ceil(Math.log2(Math.max(SMALLEST, bytes)));
    return (
      this.#list(size).pop() ??
      this.#device.createBuffer({ label: this.#label, size, usage: this.#usage })
    );
  }

  give(buffer: GPUBuffer): void {
    this.#list(buffer.size).push(buffer);
  }

  dispose(): void {
    for (const buffers of this.#free.values()) for (const buffer of buffers) buffer.destroy();
    this.#free.clear();
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
