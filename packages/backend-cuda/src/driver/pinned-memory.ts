/**
 * Page-locked host memory: copies from and to it run in stream order without a copy in between.
 */
import { checkRange } from './check-range.js';
import type { Context } from './context.js';
import { Resource } from './resource.js';

export class PinnedMemory extends Resource {
  readonly bytes: number;
  readonly #address: bigint;
  /** Never handed out: Node cannot empty it, and arrays over it would outlive the memory. */
  readonly #view: Uint8Array;

  private constructor(context: Context, address: bigint, bytes: number) {
    super(context, 'the pinned memory');
    this.#address = address;
    this.bytes = bytes;
    this.#view = new Uint8Array(context.driver.viewAt(address, bytes));
  }

  /** Contents are undefined. Throws DEVICE_OUT_OF_MEMORY. */
  static allocate(context: Context, bytes: number): PinnedMemory {
    checkRange('pinned memory', 0, bytes, Number.MAX_SAFE_INTEGER);
    return context.run(() => {
      const address = new BigUint64Array(1);
      const result = context.driver.cuMemAllocHost_v2(address, bytes);
      context.check('cuMemAllocHost_v2', result, {
        message: 'pinned host memory cannot be allocated',
        value: bytes,
        valid: 'less than what the system lets processes lock',
        next: 'Ask for less, or free memory of the host.',
      });
      return new PinnedMemory(context, address[0]!, bytes);
    });
  }

  /** Address in the host's memory. */
  get address(): bigint {
    this.ensureUsable();
    return this.#address;
  }

  /** Copies that read what is overwritten must have run. */
  write(source: Uint8Array, offset = 0): void {
    this.ensureUsable();
    checkRange('a write', offset, source.byteLength, this.bytes);
    this.#view.set(source, offset);
  }

  /** A copy of what is there now. */
  read(offset = 0, bytes: number = this.bytes - offset): Uint8Array {
    this.ensureUsable();
    checkRange('a read', offset, bytes, this.bytes);
    return this.#view.slice(offset, offset + bytes);
  }

  /** Copies that use it must have run. */
  protected override release(): void {
    this.context.check('cuMemFreeHost', this.context.driver.cuMemFreeHost(this.#address));
  }
}
