/**
 * CUlaunchConfig of cuda.h with one attribute, as bytes: written once, handed to every cuLaunchKernelEx.
 *
 * | offset | CUlaunchConfig | | offset | CUlaunchAttribute |
 * | --- | --- | --- | --- | --- |
 * | 0 | u32 grid x, y, z | | 0 | u32 id |
 * | 12 | u32 block x, y, z | | 8 | 64 bytes of value |
 * | 24 | u32 shared bytes | | 72 | end |
 * | 32 | CUstream | | | |
 * | 40 | CUlaunchAttribute * | | | |
 * | 48 | u32 number of attributes | | | |
 * | 56 | end | | | |
 */
import { CU } from './constants.js';
import type { CudaDriver } from './functions.js';

const STREAM = 32;
const ATTRIBUTES = 40;
const ATTRIBUTE_COUNT = 48;
const CONFIG_BYTES = 56;
const VALUE = 8;
const ATTRIBUTE_BYTES = 72;

export class LaunchConfig {
  readonly #view = new DataView(new ArrayBuffer(CONFIG_BYTES + ATTRIBUTE_BYTES));
  readonly #address: bigint;

  /** With programmatic dependent launch allowed. */
  constructor(driver: CudaDriver, block: readonly [number, number, number], sharedBytes: number) {
    const view = this.#view;
    this.#address = driver.addressOf(view.buffer);
    for (const [index, count] of block.entries()) view.setUint32(12 + 4 * index, count, true);
    view.setUint32(24, sharedBytes, true);
    view.setBigUint64(ATTRIBUTES, this.#address + BigInt(CONFIG_BYTES), true);
    view.setUint32(ATTRIBUTE_COUNT, 1, true);
    view.setUint32(CONFIG_BYTES, CU.LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, true);
    view.setInt32(CONFIG_BYTES + VALUE, 1, true);
  }

  setGrid(x: number, y: number, z: number): void {
    this.#view.setUint32(0, x, true);
    this.#view.setUint32(4, y, true);
    this.#view.setUint32(8, z, true);
  }

  /** Address of the struct, for a launch in this stream. */
  in(stream: bigint): bigint {
    this.#view.setBigUint64(STREAM, stream, true);
    return this.#address;
  }
}
