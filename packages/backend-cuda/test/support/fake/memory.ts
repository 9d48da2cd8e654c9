/**
 * Memory of the fake driver: every block has 4 GiB of addresses of its own, so that nothing beyond its end, before its
 * start or after its time is mistaken for another block. For kernels of native code, memory of the device has the addresses
 * of the host instead, with bytes around it that nobody may write.
 */
import { FakeViolation } from './violation.js';

export type BlockKind = 'device' | 'pinned' | 'host';

export interface Block {
  readonly kind: BlockKind;
  readonly address: bigint;
  readonly size: number;
  /** CUcontext that it was allocated in; 0n for host memory. */
  readonly context: bigint;
  readonly device: number;
  /** Nothing once it is freed. */
  bytes: Uint8Array<ArrayBuffer>;
  freed: boolean;
}

const ADDRESS_BITS = 32n;
/** Fresh memory is not zero on a card either. */
const POISON = 0xa5;

const NOTHING = new Uint8Array();

const GUARD = 4096;
const GUARD_BYTE = 0x5c;

export class FakeMemory {
  readonly #blocks: Block[] = [];
  readonly #native: Block[] = [];
  readonly #addressOf: ((buffer: ArrayBuffer) => bigint) | undefined;
  readonly #hostAddresses = new WeakMap<ArrayBuffer, bigint>();

  /** `addressOf`: of a buffer in the host's memory, for kernels of native code. */
  constructor(addressOf?: (buffer: ArrayBuffer) => bigint) {
    this.#addressOf = addressOf;
  }

  allocate(kind: 'device' | 'pinned', size: number, context: bigint, device: number): Block {
    if (kind === 'device' && this.#addressOf !== undefined)
      return this.#allocateNative(this.#addressOf, size, context, device);
    return this.#add(kind, new Uint8Array(size).fill(POISON), context, device);
  }

  #allocateNative(
    addressOf: (buffer: ArrayBuffer) => bigint,
    size: number,
    context: bigint,
    device: number,
  ): Block {
    const buffer = new ArrayBuffer(size + 2 * GUARD);
    new Uint8Array(buffer).fill(GUARD_BYTE);
    const base = addressOf(buffer);
    const skipped = Number((256n - (base % 256n)) % 256n) + GUARD / 2;
    const bytes = new Uint8Array(buffer, skipped, size).fill(POISON);
    const address = base + BigInt(skipped);
    const block: Block = { kind: 'device', address, size, context, device, bytes, freed: false };
    this.#native.push(block);
    return block;
  }

  /** Frees a block. Throws a FakeViolation when something was written around it. */
  free(block: Block): void {
    block.freed = true;
    const { bytes } = block;
    block.bytes = NOTHING;
    const index = this.#native.indexOf(block);
    if (index < 0) return;
    this.#native.splice(index, 1);
    const around = new Uint8Array(bytes.buffer);
    const isGuard = (byte: number) => byte === GUARD_BYTE;
    if (
      !around.subarray(0, bytes.byteOffset).every(isGuard) ||
      !around.subarray(bytes.byteOffset + bytes.length).every(isGuard)
    )
      throw new FakeViolation('a kernel writes around its memory');
  }

  /** Address of a buffer of JavaScript, good for as long as somebody has the buffer: a driver keeps no objects alive. */
  hostAddress(buffer: ArrayBuffer): bigint {
    let address = this.#hostAddresses.get(buffer);
    if (address === undefined) {
      const block = this.#add('host', NOTHING, 0n, -1);
      const held = new WeakRef(buffer);
      Object.defineProperties(block, {
        size: { value: buffer.byteLength },
        bytes: { get: () => new Uint8Array(held.deref() ?? NOTHING.buffer) },
        freed: { get: () => held.deref() === undefined },
      });
      address = block.address;
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
    const native = this.#native.find(
      (block) => address >= block.address && address < block.address + BigInt(block.size),
    );
    if (native !== undefined) return native;
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
    return [...this.#blocks, ...this.#native].filter(
      (block) => block.kind === kind && !block.freed,
    );
  }
}
