/**
 * A CUDA context: makes it current for every call and restores the caller's, owns what was made in it, and remembers
 * when it was lost.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Cuda } from './cuda.js';
import type { Device } from './device.js';
import { callFailure, checkCall, type FailureWords } from './failure.js';
import type { CudaDriver, CudaFunctionName } from './functions.js';
import type { Resource } from './resource.js';
import { isSticky, RESULT } from './results.js';

/** What a graph frees with itself. */
export interface Disposable {
  dispose(): void;
}

export class Context {
  readonly device: Device;
  readonly driver: CudaDriver;
  /** CUcontext. */
  readonly handle: bigint;
  readonly #cuda: Cuda;
  readonly #retained: boolean;
  readonly #resources = new Set<Resource>();
  readonly #current = new BigUint64Array(1);
  /** Whether each entry of this context, innermost last, pushed it. */
  readonly #pushed: boolean[] = [];
  /** What the graphs that are being captured hold, innermost last. */
  readonly #captures: Disposable[][] = [];
  /** That free memory nobody uses. */
  readonly #reliefs: (() => boolean)[] = [];
  #lost: LowbitKvError | undefined;
  #disposed = false;

  private constructor(device: Device, handle: bigint, retained: boolean) {
    this.device = device;
    this.#cuda = device.cuda;
    this.driver = device.cuda.driver;
    this.handle = handle;
    this.#retained = retained;
  }

  /** The context of the device that the CUDA runtime, and so most libraries, use. Released on `dispose`. */
  static primary(device: Device): Context {
    const handle = new BigUint64Array(1);
    const { driver } = device.cuda;
    const result = driver.cuDevicePrimaryCtxRetain(handle, device.handle);
    checkCall(driver, 'cuDevicePrimaryCtxRetain', result, {
      message: 'the context of the device cannot be made',
      where: { device: device.ordinal },
    });
    return new Context(device, handle[0]!, true);
  }

  /** The context that is current in this thread. It stays the caller's: `dispose` only frees what was made in it. */
  static current(cuda: Cuda): Context {
    const { driver } = cuda;
    const handle = new BigUint64Array(1);
    checkCall(driver, 'cuCtxGetCurrent', driver.cuCtxGetCurrent(handle));
    if (handle[0] === 0n) {
      throw new LowbitKvError('DEVICE_RESOURCE_STATE', {
        message: 'no CUDA context is current in this thread',
        valid: 'a context that the caller made current',
        next: 'Make yours current first, or use the primary context of a device.',
      });
    }
    const number = new Int32Array(1);
    checkCall(driver, 'cuCtxGetDevice', driver.cuCtxGetDevice(number));
    const device = cuda.devices().find((candidate) => candidate.handle === number[0]);
    if (device === undefined) {
      throw new LowbitKvError('DEVICE_RESOURCE_STATE', {
        message: 'the current CUDA context is of a device that is not visible',
        value: number[0],
        valid: cuda.devices().map(({ handle }) => handle),
        next: 'Make a context of a visible device current.',
      });
    }
    return new Context(device, handle[0]!, false);
  }

  /** Set when a kernel or the card failed: every later call throws it. */
  get lost(): LowbitKvError | undefined {
    return this.#lost;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** Number of streams, allocations, modules and so on that are alive. */
  get resourceCount(): number {
    return this.#resources.size;
  }

  /**
   * Runs `work` with this context current. Calls of streams, kernels and so on do this by themselves; around many of
   * them it saves asking for the current context each time. `work` must not change the current context itself.
   */
  run<T>(work: () => T): T {
    this.enter();
    try {
      return work();
    } finally {
      this.leave();
    }
  }

  /** Every `enter` needs a `leave`. Throws DEVICE_LOST, or DEVICE_RESOURCE_STATE after `dispose`. */
  enter(): void {
    if (this.#lost !== undefined) throw this.#lost;
    if (this.#disposed) {
      throw new LowbitKvError('DEVICE_RESOURCE_STATE', {
        message: 'the CUDA context was disposed',
        valid: 'a context in use',
        next: 'Open the device again.',
      });
    }
    const { entered } = this.#cuda;
    let pushed = false;
    if (entered.at(-1) !== this) {
      this.check('cuCtxGetCurrent', this.driver.cuCtxGetCurrent(this.#current));
      if (this.#current[0] !== this.handle) {
        this.check('cuCtxPushCurrent_v2', this.driver.cuCtxPushCurrent_v2(this.handle));
        pushed = true;
      }
    }
    entered.push(this);
    this.#pushed.push(pushed);
  }

  leave(): void {
    this.#cuda.entered.pop();
    if (this.#pushed.pop() !== true) return;
    const result = this.driver.cuCtxPopCurrent_v2(this.#current);
    // After a loss the error that told of it is on its way already.
    if (this.#lost === undefined) this.check('cuCtxPopCurrent_v2', result);
  }

  /** Throws unless the call succeeded; a sticky result marks the context lost. */
  check(call: CudaFunctionName, result: number, words?: FailureWords): void {
    if (result === RESULT.SUCCESS) return;
    throw this.failure(call, result, words);
  }

  failure(call: CudaFunctionName, result: number, words: FailureWords = {}): LowbitKvError {
    if (!isSticky(result)) return callFailure(this.driver, call, result, this.#located(words));
    // The call that reports it is seldom the one at fault: work runs later than it is enqueued.
    this.#lost ??= callFailure(this.driver, call, result, {
      message: 'the CUDA context was lost, reported by a later call than the one at fault',
      where: { device: this.device.ordinal },
    });
    return this.#lost;
  }

  #located(words: FailureWords): FailureWords {
    return { ...words, where: { device: this.device.ordinal, ...words.where } };
  }

  /** Waits for all work in the context. */
  synchronize(): void {
    this.run(() => this.check('cuCtxSynchronize', this.driver.cuCtxSynchronize()));
  }

  /** Bytes of the card, all processes counted. */
  memory(): { readonly free: number; readonly total: number } {
    return this.run(() => {
      const free = new BigUint64Array(1);
      const total = new BigUint64Array(1);
      this.check('cuMemGetInfo_v2', this.driver.cuMemGetInfo_v2(free, total));
      return { free: Number(free[0]), total: Number(total[0]) };
    });
  }

  /** Frees everything made in the context, newest first, and releases it. */
  dispose(): void {
    if (this.#disposed) return;
    const failures: unknown[] = [];
    const attempt = (work: () => void) => {
      try {
        work();
      } catch (error) {
        failures.push(error);
      }
    };
    for (const resource of [...this.#resources].reverse()) attempt(() => resource.dispose());
    this.#disposed = true;
    if (this.#retained) {
      const result = this.driver.cuDevicePrimaryCtxRelease_v2(this.device.handle);
      if (this.#lost === undefined) {
        attempt(() => this.check('cuDevicePrimaryCtxRelease_v2', result));
      }
    }
    // What a lost context says about its remains was said when it was lost.
    const telling = failures.filter((failure) => failure !== this.#lost);
    if (telling.length > 0) throw telling[0];
  }

  /** Collects what `retainForGraph` is given during `work`. For `Graph.capture`. */
  collectRetained(work: () => void): Disposable[] {
    const retained: Disposable[] = [];
    this.#captures.push(retained);
    try {
      work();
    } catch (error) {
      for (const resource of retained) resource.dispose();
      throw error;
    } finally {
      this.#captures.pop();
    }
    return retained;
  }

  /** Hands a resource to the graph that `Graph.capture` records now; false when it records none. */
  retainForGraph(resource: Disposable): boolean {
    this.#captures.at(-1)?.push(resource);
    return this.#captures.length > 0;
  }

  /** `relieve` frees device memory that nobody uses, and says whether there was any; called when an allocation fails. */
  onMemoryPressure(relieve: () => boolean): void {
    this.#reliefs.push(relieve);
  }

  /** Whether any memory was freed. */
  relieve(): boolean {
    return this.#reliefs.map((relieve) => relieve()).includes(true);
  }

  /** For `Resource`. */
  own(resource: Resource): void {
    this.#resources.add(resource);
  }

  /** For `Resource`. */
  disown(resource: Resource): void {
    this.#resources.delete(resource);
  }
}
