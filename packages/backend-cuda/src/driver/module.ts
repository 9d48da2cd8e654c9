/**
 * A loaded kernel image: machine code (cubin), several in one (fatbin), or PTX, which the driver compiles.
 */
import { CU } from './constants.js';
import type { Context } from './context.js';
import { Kernel } from './kernel.js';
import type { ParameterType } from './parameter-block.js';
import { Resource } from './resource.js';
import { RESULT } from './results.js';

const LOG_BYTES = 16_384;

export class Module extends Resource {
  /** CUmodule. */
  readonly handle: bigint;
  /** What the driver's compiler said about PTX; empty for machine code. */
  readonly log: string;

  private constructor(context: Context, handle: bigint, log: string) {
    super(context, 'the kernel module');
    this.handle = handle;
    this.log = log;
  }

  /** `image`: bytes of a cubin or fatbin, or PTX as text. Throws KERNEL_IMAGE_INVALID with the compiler's log. */
  static load(context: Context, image: Uint8Array | string): Module {
    const { driver } = context;
    const bytes = typeof image === 'string' ? terminated(image) : aligned(image);
    const info = new ArrayBuffer(LOG_BYTES);
    const errors = new ArrayBuffer(LOG_BYTES);
    const options = Int32Array.of(
      CU.JIT_INFO_LOG_BUFFER,
      CU.JIT_INFO_LOG_BUFFER_SIZE_BYTES,
      CU.JIT_ERROR_LOG_BUFFER,
      CU.JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    );
    // Each value is a pointer, or a number in the place of one.
    const values = BigUint64Array.of(
      driver.addressOf(info),
      BigInt(LOG_BYTES),
      driver.addressOf(errors),
      BigInt(LOG_BYTES),
    );
    return context.run(() => {
      const handle = new BigUint64Array(1);
      const result = driver.cuModuleLoadDataEx(
        handle,
        bytes,
        options.length,
        new Uint8Array(options.buffer),
        new Uint8Array(values.buffer),
      );
      const log = logText(errors);
      context.check('cuModuleLoadDataEx', result, {
        message: `the driver does not load a kernel image${log === '' ? '' : ` (its compiler says: ${log})`}`,
        where: { bytes: bytes.byteLength },
      });
      return new Module(context, handle[0]!, logText(info));
    });
  }

  /** A kernel by its name in the image, and what its parameters are. Throws KERNEL_IMAGE_INVALID. */
  kernel(name: string, parameters: readonly ParameterType[]): Kernel {
    this.ensureUsable();
    const { context } = this;
    return context.run(() => {
      const handle = new BigUint64Array(1);
      const result = context.driver.cuModuleGetFunction(handle, this.handle, terminated(name));
      if (result === RESULT.NOT_FOUND) throw this.#missingKernel(name, result);
      context.check('cuModuleGetFunction', result, { where: { kernel: name } });
      return new Kernel(this, name, handle[0]!, parameters);
    });
  }

  #missingKernel(name: string, result: number) {
    return this.context.failure('cuModuleGetFunction', result, {
      message: 'the kernel image has no such kernel',
      value: name,
      valid: 'a kernel of the image, by the name that nvcc gave it',
      next: 'Build the images again from the sources of this version.',
    });
  }

  protected override release(): void {
    this.context.check('cuModuleUnload', this.context.driver.cuModuleUnload(this.handle));
  }
}

function terminated(text: string): Uint8Array {
  return new TextEncoder().encode(`${text}\0`);
}

/** The driver reads words: a view that starts in the middle of a buffer is copied to a start of one. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
}

function logText(buffer: ArrayBuffer): string {
  const bytes = new Uint8Array(buffer);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end)).trim();
}
