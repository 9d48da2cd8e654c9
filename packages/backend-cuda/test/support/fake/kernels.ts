/**
 * Kernels of the fake driver: JavaScript functions by name, with parameters read as the driver reads them.
 */
import type { ParameterType } from '../../../src/driver/parameter-block.js';
import { RESULT } from '../../../src/driver/results.js';
import type { FakeMemory } from './memory.js';
import { FakeViolation, KernelFault } from './violation.js';

export type Dimensions = readonly [x: number, y: number, z: number];

export interface KernelCall {
  readonly grid: Dimensions;
  readonly block: Dimensions;
  readonly sharedBytes: number;
  readonly parameters: ParameterReader;
  readonly memory: DeviceAccess;
  /** Launched with programmatic dependent launch. */
  readonly overlapsPrevious: boolean;
}

export interface FakeKernel {
  readonly name: string;
  readonly parameters: readonly ParameterType[];
  readonly registers?: number;
  readonly localBytes?: number;
  readonly sharedBytes?: number;
  readonly maxThreadsPerBlock?: number;
  /** 10 times the compute capability that it was compiled for; default 80. */
  readonly ptxVersion?: number;
  run(call: KernelCall): void;
}

/** Copies of the parameters as they were at the launch. */
export class ParameterReader {
  readonly #values: readonly DataView[];

  constructor(values: readonly DataView[]) {
    this.#values = values;
  }

  pointer(index: number): bigint {
    return this.#at(index, 8).getBigUint64(0, true);
  }

  i64(index: number): bigint {
    return this.#at(index, 8).getBigInt64(0, true);
  }

  u32(index: number): number {
    return this.#at(index, 4).getUint32(0, true);
  }

  i32(index: number): number {
    return this.#at(index, 4).getInt32(0, true);
  }

  f32(index: number): number {
    return this.#at(index, 4).getFloat32(0, true);
  }

  f64(index: number): number {
    return this.#at(index, 8).getFloat64(0, true);
  }

  /** A struct passed by value. */
  bytes(index: number): DataView {
    return this.#at(index, 0);
  }

  #at(index: number, bytes: number): DataView {
    const value = this.#values[index];
    if (value === undefined || (bytes > 0 && value.byteLength !== bytes))
      throw new FakeViolation(`a kernel reads ${bytes} bytes of parameter ${index}`);
    return value;
  }
}

type Words = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | BigUint64Array;
type WordsConstructor<T extends Words> = {
  new (buffer: ArrayBuffer, offset: number, length: number): T;
  readonly BYTES_PER_ELEMENT: number;
};

/** What a kernel may touch: live memory of its device, aligned. */
export class DeviceAccess {
  readonly #memory: FakeMemory;
  readonly #device: number;

  constructor(memory: FakeMemory, device: number) {
    this.#memory = memory;
    this.#device = device;
  }

  /** The memory itself, to read and write. */
  at<T extends Words>(Type: WordsConstructor<T>, pointer: bigint, count: number): T {
    const bytes = this.#memory.find(pointer, count * Type.BYTES_PER_ELEMENT, ['device', 'pinned']);
    const block = this.#memory.blockOf(pointer);
    if (bytes === undefined || (block?.kind === 'device' && block.device !== this.#device)) {
      const what = block?.freed === true ? 'freed memory' : 'memory out of bounds';
      throw new KernelFault(RESULT.ILLEGAL_ADDRESS, `a kernel touches ${what}`);
    }
    if (bytes.byteOffset % Type.BYTES_PER_ELEMENT !== 0)
      throw new KernelFault(RESULT.MISALIGNED_ADDRESS, 'a kernel touches words out of alignment');
    return new Type(bytes.buffer, bytes.byteOffset, count);
  }
}

export function parameterBytes(type: ParameterType): number {
  if (typeof type === 'object') return type.bytes;
  return type === 'u32' || type === 'i32' || type === 'f32' ? 4 : 8;
}

/** Reads what `void **kernelParams` points at. */
export function readParameters(
  memory: FakeMemory,
  types: readonly ParameterType[],
  table: bigint,
): ParameterReader {
  if (types.length === 0) return new ParameterReader([]);
  const block = memory.blockOf(table);
  const pointers = memory.find(table, 8 * types.length, ['host']);
  // The driver reads as many as the kernel has: a longer table was made for another kernel.
  if (pointers === undefined || block!.size !== 8 * types.length)
    throw new FakeViolation(`a kernel of ${types.length} parameters is launched with others`);
  const view = new DataView(pointers.buffer, pointers.byteOffset, pointers.byteLength);
  return new ParameterReader(
    types.map((type, index) => {
      const bytes = memory.find(view.getBigUint64(8 * index, true), parameterBytes(type), ['host']);
      if (bytes === undefined) throw new FakeViolation(`parameter ${index} is at no host address`);
      return new DataView(bytes.slice().buffer);
    }),
  );
}
