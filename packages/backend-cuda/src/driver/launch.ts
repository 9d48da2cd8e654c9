/**
 * A launch of a kernel, prepared once: running it is one driver call and allocates nothing.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Kernel } from './kernel.js';
import { LaunchConfig } from './launch-config.js';
import { ParameterBlock, type ParameterValue } from './parameter-block.js';
import type { Stream } from './stream.js';

export type Extent = readonly [x: number, y?: number, z?: number];

export interface LaunchShape {
  /** Blocks. */
  readonly grid: Extent;
  /** Threads of a block. */
  readonly block: Extent;
  /** Dynamic shared memory of a block; more than 48 KiB is asked for by itself. */
  readonly sharedBytes?: number;
  /**
   * Programmatic dependent launch: may start before the kernel in front of it ends, and waits inside, where the kernel
   * says so (griddepcontrol.wait). Below compute capability 9.0 it is a plain launch.
   */
  readonly overlapsPrevious?: boolean;
}

export class Launch {
  readonly kernel: Kernel;
  readonly parameters: ParameterBlock;
  #gridX = 1;
  #gridY = 1;
  #gridZ = 1;
  readonly #blockX: number;
  readonly #blockY: number;
  readonly #blockZ: number;
  readonly #sharedBytes: number;
  readonly #config: LaunchConfig | undefined;
  /** Parameters that were never set; structs are written through their views. */
  readonly #missing: Set<number>;

  constructor(kernel: Kernel, shape: LaunchShape) {
    const { sharedBytes = 0, overlapsPrevious = false } = shape;
    const { context } = kernel;
    const { limits } = context.device.properties;
    const [x, y = 1, z = 1] = shape.block;
    const threads = Math.min(limits.maxThreadsPerBlock, kernel.attributes.maxThreadsPerBlock);
    const counts = [x, y, z].every((count) => Number.isInteger(count) && count >= 1);
    if (!counts || x * y * z > threads) {
      throw new LowbitKvError('OPTION_INVALID', {
        message: `kernel ${kernel.name} cannot run in blocks of this size`,
        value: shape.block,
        valid: `whole numbers of at least 1, at most ${threads} threads together`,
        next: 'Correct the block.',
      });
    }
    kernel.allowSharedBytes(sharedBytes);
    this.kernel = kernel;
    this.parameters = new ParameterBlock(context.driver, kernel.parameters);
    this.#missing = new Set(
      kernel.parameters.flatMap((type, index) => (typeof type === 'object' ? [] : [index])),
    );
    this.#blockX = x;
    this.#blockY = y;
    this.#blockZ = z;
    this.#sharedBytes = sharedBytes;
    if (overlapsPrevious && limits.computeMajor >= 9) {
      this.#config = new LaunchConfig(context.driver, [x, y, z], sharedBytes);
    }
    this.setGrid(...shape.grid);
  }

  setGrid(x: number, y = 1, z = 1): void {
    const { maxGridX, maxGridY, maxGridZ } = this.kernel.context.device.properties.limits;
    const fits = (count: number, limit: number) =>
      Number.isInteger(count) && count >= 1 && count <= limit;
    if (!fits(x, maxGridX) || !fits(y, maxGridY) || !fits(z, maxGridZ)) {
      throw new LowbitKvError('OPTION_INVALID', {
        message: `kernel ${this.kernel.name} cannot run in this grid`,
        value: [x, y, z],
        valid: `1 to ${maxGridX}, ${maxGridY} and ${maxGridZ} blocks`,
        next: 'Correct the grid; launch nothing where there is no work.',
      });
    }
    this.#gridX = x;
    this.#gridY = y;
    this.#gridZ = z;
    this.#config?.setGrid(x, y, z);
  }

  /** Sets one parameter; it stays set. */
  set(index: number, value: ParameterValue): this {
    this.parameters.set(index, value);
    this.#missing.delete(index);
    return this;
  }

  /** Enqueues the kernel, or records it where the stream is captured. Parameters are copied now. */
  run(stream: Stream): void {
    if (this.#missing.size > 0) throw this.#unset();
    this.kernel.module.ensureUsable();
    stream.ensureUsable();
    const { context, handle } = this.kernel;
    const { driver } = context;
    const { address } = this.parameters;
    context.enter();
    try {
      if (this.#config !== undefined) {
        const config = this.#config.in(stream.handle);
        const result = driver.cuLaunchKernelEx(config, handle, address, 0n);
        if (result !== 0) throw this.#failure('cuLaunchKernelEx', result);
      } else {
        const result = driver.cuLaunchKernel(
          handle,
          this.#gridX,
          this.#gridY,
          this.#gridZ,
          this.#blockX,
          this.#blockY,
          this.#blockZ,
          this.#sharedBytes,
          stream.handle,
          address,
          0n,
        );
        if (result !== 0) throw this.#failure('cuLaunchKernel', result);
      }
    } finally {
      context.leave();
    }
  }

  #failure(call: 'cuLaunchKernel' | 'cuLaunchKernelEx', result: number): LowbitKvError {
    return this.kernel.context.failure(call, result, {
      message: `kernel ${this.kernel.name} was not launched`,
      where: {
        grid: [this.#gridX, this.#gridY, this.#gridZ],
        block: [this.#blockX, this.#blockY, this.#blockZ],
        sharedBytes: this.#sharedBytes,
      },
    });
  }

  #unset(): LowbitKvError {
    return new LowbitKvError('DEVICE_RESOURCE_STATE', {
      message: `parameters of kernel ${this.kernel.name} were never set`,
      value: [...this.#missing],
      valid: 'every parameter set before the first run',
      next: 'Call `set` for each.',
    });
  }
}
