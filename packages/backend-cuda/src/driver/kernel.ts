/**
 * A kernel of a module: what it takes of a multiprocessor, and launches.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { CU } from './constants.js';
import type { Context } from './context.js';
import { Launch, type LaunchShape } from './launch.js';
import type { Module } from './module.js';
import type { ParameterType } from './parameter-block.js';

const ATTRIBUTE = {
  maxThreadsPerBlock: CU.FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
  /** Static shared memory. */
  sharedBytes: CU.FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
  constantBytes: CU.FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
  /** Of each thread; more than 0 means arrays or spilled registers in memory. */
  localBytes: CU.FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
  registers: CU.FUNC_ATTRIBUTE_NUM_REGS,
  /** 10 * major + minor of what it was compiled from and for. */
  ptxVersion: CU.FUNC_ATTRIBUTE_PTX_VERSION,
  binaryVersion: CU.FUNC_ATTRIBUTE_BINARY_VERSION,
} as const;
/** 10 times the compute capability from which on kernels of a stream overlap. */
const OVERLAPPING_VERSION = 90;
/** What every kernel may have without asking. */
const DEFAULT_SHARED_BYTES = 48 * 1024;

export type KernelAttributes = Readonly<Record<keyof typeof ATTRIBUTE, number>>;

export class Kernel {
  readonly module: Module;
  readonly name: string;
  /** CUfunction. */
  readonly handle: bigint;
  readonly parameters: readonly ParameterType[];
  #attributes: KernelAttributes | undefined;
  #dynamicSharedBytes = 0;

  constructor(module: Module, name: string, handle: bigint, parameters: readonly ParameterType[]) {
    this.module = module;
    this.name = name;
    this.handle = handle;
    this.parameters = parameters;
  }

  get context(): Context {
    return this.module.context;
  }

  /** Asked once. */
  get attributes(): KernelAttributes {
    this.#attributes ??= this.#read();
    return this.#attributes;
  }

  /** Whether it may be launched to overlap the kernel in front: compiled for less than 9.0 it cannot wait for that one's end. */
  get canOverlap(): boolean {
    return this.attributes.ptxVersion >= OVERLAPPING_VERSION;
  }

  #read(): KernelAttributes {
    this.module.ensureUsable();
    const { context } = this;
    return context.run(() => {
      const value = new Int32Array(1);
      const read = (attribute: number) => {
        const result = context.driver.cuFuncGetAttribute(value, attribute, this.handle);
        context.check('cuFuncGetAttribute', result, { where: { kernel: this.name } });
        return value[0]!;
      };
      return Object.fromEntries(
        Object.entries(ATTRIBUTE).map(([key, attribute]) => [key, read(attribute)]),
      ) as KernelAttributes;
    });
  }

  /** Blocks that fit on one multiprocessor at once. */
  blocksPerMultiprocessor(threads: number, dynamicSharedBytes = 0): number {
    this.allowSharedBytes(dynamicSharedBytes);
    const { context } = this;
    return context.run(() => {
      const blocks = new Int32Array(1);
      const result = context.driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks,
        this.handle,
        threads,
        dynamicSharedBytes,
      );
      context.check('cuOccupancyMaxActiveBlocksPerMultiprocessor', result);
      return blocks[0]!;
    });
  }

  /** Lets launches ask for that much dynamic shared memory. Throws PLAN_REFUSED when the card has less. */
  allowSharedBytes(dynamic: number): void {
    this.module.ensureUsable();
    if (dynamic <= this.#dynamicSharedBytes) return;
    const { context } = this;
    const limit = context.device.properties.limits.sharedBytesPerBlockOptIn;
    const { sharedBytes } = this.attributes;
    if (sharedBytes + dynamic > limit) {
      throw new LowbitKvError('PLAN_REFUSED', {
        message: `kernel ${this.name} needs more shared memory than a block may have on this card`,
        value: sharedBytes + dynamic,
        valid: `at most ${limit} bytes`,
        next: 'Use a kernel with smaller tiles, or another card.',
      });
    }
    if (sharedBytes + dynamic > DEFAULT_SHARED_BYTES) {
      context.run(() => {
        const { driver } = context;
        const result = driver.cuFuncSetAttribute(
          this.handle,
          CU.FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
          dynamic,
        );
        context.check('cuFuncSetAttribute', result, { where: { kernel: this.name } });
      });
    }
    this.#dynamicSharedBytes = dynamic;
  }

  /** A launch to be filled in once and run many times. */
  prepare(shape: LaunchShape): Launch {
    return new Launch(this, shape);
  }
}
