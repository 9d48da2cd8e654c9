/**
 * Memory of the fake driver: every block has 4 GiB of addresses of its own, so that nothing beyond its end, before its
 * start or after its time is mistaken for another block.
 */

export type BlockKind = 'device' | 'pinned' | 'host';

export interface Block {
  readonly kind: BlockKind;
  readonly address: bigint;
  readonly size: number;
  /** CUcontext that it was allocated in; 0n for host memory. */
  readonly context: bigint;
  readonly device: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  freed: boolean;
}

const ADDRESS_BITS = 32n;
/** Fresh memory is not zero on a card either. */
const POISON = 0xa5;

export class FakeMemory {
  readonly #blocks: Block[] = [];
  readonly #hostAddresses = new WeakMap<ArrayBuffer, bigint>();

  allocate(kind: 'device' | 'pinned', size: number, context: bigint, device: number): Block {
    return this.#add(kind, new Uint8Array(size).fill(POISON), context, device);
  }

  /** Address of a buffer of JavaScript. */
  hostAddress(buffer: ArrayBuffer): bigint {
    let address = this.#hostAddresses.get(buffer);
    if (address === undefined) {
      address = this.#add('host', new Uint8Array(buffer), 0n, -1).address;
      this.#hostAddresses.set(buffer, address);
    }
    return address;
  }

  #add(kind: BlockKind, bytes: Uint8Array<ArrayBuffer>, context: bigint, device: number): Block {
    const address = BigInt(this.#blocks.length + 1) << ADDRESS_BITS;
    const block = { kind, address, size: bytes.length, context, device, bytes, freed: false };
    this.#blocks.push(block);
    return block;
  }

  /** The block whose addresses these are, also when it was freed or the address is beyond its end. */
  blockOf(address: bigint): Block | undefined {
    return this.#blocks[Number(address >> ADDRESS_BITS) - 1];
  }

  /** Bytes of a live block, or undefined. */
  find(
    address: bigint,
    length: number,
    kinds: readonly BlockKind[],
  ): Uint8Array<ArrayBuffer> | undefined {
    const block = this.blockOf(address);
    if (block === undefined || block.freed || !kinds.includes(block.kind)) return undefined;
    const offset = Number(address - block.address);
    return offset + length <= block.size
      ? block.bytes.subarray(offset, offset + length)
      : undefined;
  }

  /** What is allocated and not freed. */
  live(kind: 'device' | 'pinned'): Block[] {
    return this.#blocks.filter((block) => block.kind === kind && !block.freed);
  }
}
