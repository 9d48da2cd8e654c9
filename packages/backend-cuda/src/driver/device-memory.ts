/**
 * Device memory: allocations, memory of the caller, and ranges of both. Offsets and sizes are in bytes.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { checkRange } from './check-range.js';
import { CU } from './constants.js';
import type { Context } from './context.js';
import type { PinnedMemory } from './pinned-memory.js';
import { Resource } from './resource.js';
import { RESULT } from './results.js';
import type { Stream } from './stream.js';

/** A part of device memory. Valid as long as what it is a part of. */
export class DeviceRange {
  readonly context: Context;
  readonly bytes: number;
  readonly #owner: Resource;
  readonly #address: bigint;

  constructor(owner: Resource, address: bigint, bytes: number) {
    this.context = owner.context;
    this.#owner = owner;
    this.#address = address;
    this.bytes = bytes;
  }

  /** CUdeviceptr. Throws DEVICE_RESOURCE_STATE after the memory was disposed. */
  get pointer(): bigint {
    this.#owner.ensureUsable();
    return this.#address;
  }

  range(offset: number, bytes: number = this.bytes - offset): DeviceRange {
    checkRange('a range of device memory', offset, bytes, this.bytes);
    return new DeviceRange(this.#owner, this.#address + BigInt(offset), bytes);
  }

  /**
   * Copies bytes of the host to the start of the range and waits. It does not wait for work in non-blocking streams:
   * synchronize with them first, or upload through a stream.
   */
  upload(source: Uint8Array): void {
    checkRange('an upload', 0, source.byteLength, this.bytes);
    const { context, pointer } = this;
    if (source.byteLength === 0) return;
    context.run(() => {
      const result = context.driver.cuMemcpyHtoD_v2(pointer, source, source.byteLength);
      context.check('cuMemcpyHtoD_v2', result);
    });
  }

  /** Copies from the start of the range to the host and waits, with the caution of `upload`. */
  download(target: Uint8Array = new Uint8Array(this.bytes)): Uint8Array {
    checkRange('a download', 0, target.byteLength, this.bytes);
    const { context, pointer } = this;
    if (target.byteLength > 0) {
      context.run(() => {
        const result = context.driver.cuMemcpyDtoH_v2(target, pointer, target.byteLength);
        context.check('cuMemcpyDtoH_v2', result);
      });
    }
    return target;
  }

  /** In stream order, from pinned memory that stays as it is until the copy has run. */
  uploadFrom(stream: Stream, source: PinnedMemory, offset: number, bytes: number): void {
    checkRange('an upload', 0, bytes, this.bytes);
    checkRange('the source of an upload', offset, bytes, source.bytes);
    if (bytes === 0) return;
    this.#enqueue('cuMemcpyHtoDAsync_v2', stream, (pointer) =>
      this.context.driver.cuMemcpyHtoDAsync_v2(
        pointer,
        source.address + BigInt(offset),
        bytes,
        stream.handle,
      ),
    );
  }

  /** In stream order, into pinned memory that may be read when the copy has run. */
  downloadTo(stream: Stream, target: PinnedMemory, offset = 0, bytes: number = this.bytes): void {
    checkRange('a download', 0, bytes, this.bytes);
    checkRange('the target of a download', offset, bytes, target.bytes);
    if (bytes === 0) return;
    this.#enqueue('cuMemcpyDtoHAsync_v2', stream, (pointer) =>
      this.context.driver.cuMemcpyDtoHAsync_v2(
        target.address + BigInt(offset),
        pointer,
        bytes,
        stream.handle,
      ),
    );
  }

  /** In stream order: all of `source` to the start of this range. */
  copyFrom(stream: Stream, source: DeviceRange): void {
    checkRange('a copy', 0, source.bytes, this.bytes);
    if (source.bytes === 0) return;
    this.#enqueue('cuMemcpyDtoDAsync_v2', stream, (pointer) =>
      this.context.driver.cuMemcpyDtoDAsync_v2(
        pointer,
        source.pointer,
        source.bytes,
        stream.handle,
      ),
    );
  }

  /** In stream order: every byte of the range. */
  fill(stream: Stream, byte: number): void {
    if (this.bytes === 0) return;
    this.#enqueue('cuMemsetD8Async', stream, (pointer) =>
      this.context.driver.cuMemsetD8Async(pointer, byte, this.bytes, stream.handle),
    );
  }

  /** In stream order: every word of the range, which starts and ends at multiples of 4. */
  fillWords(stream: Stream, word: number): void {
    if (this.bytes % 4 !== 0 || this.#address % 4n !== 0n) {
      throw new LowbitKvError('OPTION_INVALID', {
        message: 'words are filled in whole words of 4 bytes',
        value: { pointer: this.#address, bytes: this.bytes },
        valid: 'multiples of 4',
        next: 'Fill bytes, or align the range.',
      });
    }
    if (this.bytes === 0) return;
    this.#enqueue('cuMemsetD32Async', stream, (pointer) =>
      this.context.driver.cuMemsetD32Async(pointer, word, this.bytes / 4, stream.handle),
    );
  }

  #enqueue(
    call: Parameters<Context['check']>[0],
    stream: Stream,
    work: (pointer: bigint) => number,
  ): void {
    const { context, pointer } = this;
    stream.ensureUsable();
    context.run(() => context.check(call, work(pointer)));
  }
}

/** Device memory of our own, or of the caller. */
export class DeviceMemory extends Resource {
  readonly bytes: number;
  /** All of it. */
  readonly all: DeviceRange;
  readonly #address: bigint;
  readonly #stream: Stream | undefined;

  private constructor(
    context: Context,
    address: bigint,
    bytes: number,
    own: boolean,
    stream?: Stream,
  ) {
    super(context, 'the device memory', own);
    this.bytes = bytes;
    this.#address = address;
    this.#stream = stream;
    this.all = new DeviceRange(this, address, bytes);
  }

  /** Contents are undefined. Throws DEVICE_OUT_OF_MEMORY, after what the context can spare was freed. */
  static allocate(context: Context, bytes: number): DeviceMemory {
    checkSize(bytes);
    return context.run(() => {
      const pointer = new BigUint64Array(1);
      let result = context.driver.cuMemAlloc_v2(pointer, bytes);
      if (result === RESULT.OUT_OF_MEMORY && context.relieve())
        result = context.driver.cuMemAlloc_v2(pointer, bytes);
      if (result !== RESULT.SUCCESS)
        throw allocationFailure(context, 'cuMemAlloc_v2', result, bytes);
      return new DeviceMemory(context, pointer[0]!, bytes, true);
    });
  }

  /** From the device's pool, in stream order: neither this nor `dispose` waits. Needs `memoryPools`. */
  static allocateIn(stream: Stream, bytes: number): DeviceMemory {
    checkSize(bytes);
    const { context } = stream;
    if (stream.isCapturing()) {
      throw new LowbitKvError('DEVICE_RESOURCE_STATE', {
        message:
          'memory of a pool is not allocated while a graph is captured: replays would not own it',
        value: bytes,
        valid: 'allocations before the capture',
        next: 'Allocate before the capture.',
      });
    }
    return context.run(() => {
      const pointer = new BigUint64Array(1);
      const result = context.driver.cuMemAllocAsync(pointer, bytes, stream.handle);
      if (result !== RESULT.SUCCESS)
        throw allocationFailure(context, 'cuMemAllocAsync', result, bytes);
      return new DeviceMemory(context, pointer[0]!, bytes, true, stream);
    });
  }

  /** Memory of the caller, of this context; `dispose` leaves it alone. Throws TENSOR_INVALID for other pointers. */
  static of(context: Context, pointer: bigint, bytes: number): DeviceMemory {
    context.run(() => {
      const owner = new BigUint64Array(1);
      const result = context.driver.cuPointerGetAttribute(
        owner,
        CU.POINTER_ATTRIBUTE_CONTEXT,
        pointer,
      );
      if (result !== RESULT.INVALID_VALUE) context.check('cuPointerGetAttribute', result);
      // Memory of pools belongs to a device rather than to a context.
      const foreign = owner[0] !== 0n && owner[0] !== context.handle;
      if (result === RESULT.INVALID_VALUE || foreign) {
        throw new LowbitKvError('TENSOR_INVALID', {
          message: foreign
            ? 'the device pointer belongs to another CUDA context'
            : 'the address is no device pointer',
          value: `0x${pointer.toString(16)}`,
          valid: 'a CUdeviceptr of the context that the backend runs in',
          next: 'Open the backend in the context of the tensors, or copy them.',
        });
      }
    });
    return new DeviceMemory(context, pointer, bytes, false);
  }

  /** CUdeviceptr. */
  get pointer(): bigint {
    return this.all.pointer;
  }

  range(offset: number, bytes?: number): DeviceRange {
    return this.all.range(offset, bytes);
  }

  protected override release(): void {
    const { context } = this;
    const { driver } = context;
    if (this.#stream !== undefined && !this.#stream.disposed) {
      context.check('cuMemFreeAsync', driver.cuMemFreeAsync(this.#address, this.#stream.handle));
    } else {
      context.check('cuMemFree_v2', driver.cuMemFree_v2(this.#address));
    }
  }
}

function checkSize(bytes: number): void {
  if (Number.isSafeInteger(bytes) && bytes > 0) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'device memory of this size cannot be allocated',
    value: bytes,
    valid: 'a whole number of bytes, at least 1',
    next: 'Correct the size.',
  });
}

function allocationFailure(
  context: Context,
  call: 'cuMemAlloc_v2' | 'cuMemAllocAsync',
  result: number,
  bytes: number,
): LowbitKvError {
  if (result !== RESULT.OUT_OF_MEMORY) return context.failure(call, result);
  const { free, total } = context.memory();
  return context.failure(call, result, {
    message: 'the card has too little free memory',
    value: bytes,
    valid: `at most ${free} bytes, free now of ${total}`,
  });
}
