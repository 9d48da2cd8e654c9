/**
 * Parameters of a kernel in one buffer, packed once: the driver copies them at each launch, so that a launch allocates
 * nothing and a changed parameter is one write.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { DeviceRange } from './device-memory.js';
import type { CudaDriver } from './functions.js';

/** C type of a parameter; `{ bytes }` is a struct passed by value, written through `view`. */
export type ParameterType =
  | 'pointer'
  | 'u64'
  | 'i64'
  | 'u32'
  | 'i32'
  | 'f32'
  | 'f64'
  | { readonly bytes: number };

export type ParameterValue = number | bigint | DeviceRange;

const SLOT_BYTES = 8;
const U32_END = 2 ** 32;
const I32_END = 2 ** 31;

export class ParameterBlock {
  readonly types: readonly ParameterType[];
  /** Address of `void *[]`, which points at each parameter; 0n when there is none. */
  readonly address: bigint;
  readonly #values: DataView<ArrayBuffer>;
  readonly #table: BigUint64Array<ArrayBuffer>;
  readonly #offsets: readonly number[];

  constructor(driver: CudaDriver, types: readonly ParameterType[]) {
    this.types = types;
    let bytes = 0;
    this.#offsets = types.map((type) => {
      const offset = bytes;
      const size = typeof type === 'object' ? type.bytes : SLOT_BYTES;
      bytes += Math.ceil(size / SLOT_BYTES) * SLOT_BYTES;
      return offset;
    });
    this.#values = new DataView(new ArrayBuffer(bytes));
    this.#table = new BigUint64Array(types.length);
    if (types.length === 0) {
      this.address = 0n;
      return;
    }
    const start = driver.addressOf(this.#values.buffer);
    for (const [index, offset] of this.#offsets.entries())
      this.#table[index] = start + BigInt(offset);
    this.address = driver.addressOf(this.#table.buffer);
  }

  /** Throws OPTION_INVALID when the value does not fit the type. A device range must be in use. */
  set(index: number, value: ParameterValue): void {
    const type = this.types[index];
    const number = value instanceof DeviceRange ? value.pointer : value;
    if (write(this.#values, this.#offsets[index]!, type, number)) return;
    throw new LowbitKvError('OPTION_INVALID', {
      message: `parameter ${index} of the kernel does not take this value`,
      value: number,
      valid:
        type === undefined
          ? `parameters 0 to ${this.types.length - 1}`
          : `a value of ${typeof type === 'object' ? 'a struct, written through `view`' : type}`,
      next: 'Pass bigints for 64-bit integers and pointers, and numbers for the rest.',
    });
  }

  /** Memory of one parameter: for structs, and for writes without checks. */
  view(index: number): DataView<ArrayBuffer> {
    const type = this.types[index]!;
    const bytes = typeof type === 'object' ? type.bytes : SLOT_BYTES;
    return new DataView(this.#values.buffer, this.#offsets[index]!, bytes);
  }
}

/** False when the value does not fit the type. */
function write(
  values: DataView,
  offset: number,
  type: ParameterType | undefined,
  value: number | bigint,
): boolean {
  if (typeof value === 'bigint') {
    if ((type === 'pointer' || type === 'u64') && value === BigInt.asUintN(64, value)) {
      values.setBigUint64(offset, value, true);
    } else if (type === 'i64' && value === BigInt.asIntN(64, value)) {
      values.setBigInt64(offset, value, true);
    } else return false;
    return true;
  }
  if (type === 'f32') values.setFloat32(offset, value, true);
  else if (type === 'f64') values.setFloat64(offset, value, true);
  else if (!Number.isInteger(value)) return false;
  else if (type === 'u32' && value >= 0 && value < U32_END) values.setUint32(offset, value, true);
  else if (type === 'i32' && value >= -I32_END && value < I32_END) {
    values.setInt32(offset, value, true);
  } else return false;
  return true;
}
