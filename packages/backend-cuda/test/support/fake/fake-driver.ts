/**
 * A CUDA driver without a card, for tests: executes over host memory, counts calls, fails where it is told to, and says
 * at the end what was not freed. What a real driver reports it reports; what would be undefined is a FakeViolation.
 */
import type { CudaDriver, CudaFunctionName, CudaFunctions } from '../../../src/driver/functions.js';
import { CUDA_FUNCTIONS } from '../../../src/driver/functions.js';
import { RESULT } from '../../../src/driver/results.js';
import { deviceAttribute, type FakeDevice } from './devices.js';
import { FakeImages } from './images.js';
import { kernelCalls } from './kernel-calls.js';
import type { FakeKernel } from './kernels.js';
import { memoryCalls } from './memory-calls.js';
import { type FakeContext, FakeState } from './state.js';
import { streamCalls } from './stream-calls.js';
import { FakeViolation } from './violation.js';

export interface FakeOptions {
  readonly devices?: readonly FakeDevice[];
  /** As cuDriverGetVersion gives it. */
  readonly version?: number;
  readonly kernels?: readonly FakeKernel[];
  /** Where a buffer is in the host's memory: device memory gets such addresses, for kernels of native code. */
  readonly addressOf?: (buffer: ArrayBuffer) => bigint;
}

type Rest = Omit<
  CudaFunctions,
  | keyof ReturnType<typeof memoryCalls>
  | keyof ReturnType<typeof streamCalls>
  | keyof ReturnType<typeof kernelCalls>
>;

/** PTX versions begin at 7.0 with CUDA 11.0, and go on by one a release. */
function ptxVersionOf(version: number): number {
  return Math.floor(version / 1000) * 10 - 40 + Math.floor((version % 1000) / 10);
}

export class FakeCuda {
  readonly driver: CudaDriver;
  readonly #state: FakeState;
  readonly #images = new FakeImages();
  readonly #counts = new Map<CudaFunctionName, number>();
  readonly #faults = new Map<string, number>();
  #callsInOrder: CudaFunctionName[] = [];

  constructor({ devices = [{}], version = 13_000, kernels = [], addressOf }: FakeOptions = {}) {
    this.#state = new FakeState(devices, addressOf);
    const functions = this.#functions(version, kernels);
    const { memory } = this.#state;
    const driver = {
      library: 'fake libcuda',
      addressOf: (buffer: ArrayBuffer) => memory.hostAddress(buffer),
      viewAt: (address: bigint, bytes: number) => {
        const block = memory.blockOf(address);
        if (block?.kind !== 'pinned' || block.address !== address || block.size !== bytes)
          throw new FakeViolation('a view of host memory that the driver did not allocate');
        return block.bytes.buffer;
      },
      textAt: (address: bigint) => {
        const block = memory.blockOf(address)!;
        return new TextDecoder().decode(block.bytes.subarray(0, block.bytes.indexOf(0)));
      },
    } as Record<string, unknown>;
    for (const name of Object.keys(CUDA_FUNCTIONS) as CudaFunctionName[]) {
      const call = functions[name] as (...values: unknown[]) => number;
      driver[name] = (...values: unknown[]) => {
        const count = this.count(name) + 1;
        this.#counts.set(name, count);
        this.#callsInOrder.push(name);
        const fault = this.#faults.get(`${name} ${count}`);
        return fault ?? call(...values);
      };
    }
    this.driver = driver as unknown as CudaDriver;
  }

  /** An image that has these kernels. */
  addImage(kernels: readonly FakeKernel[]): Uint8Array {
    return this.#images.add(kernels);
  }

  /** How often a function was called. */
  count(name: CudaFunctionName): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Names of the calls since it was last asked, in order. */
  takeCalls(): CudaFunctionName[] {
    const calls = this.#callsInOrder;
    this.#callsInOrder = [];
    return calls;
  }

  /** The `later`th call of a function from now on returns `result` and does nothing. */
  failNext(name: CudaFunctionName, result: number, later = 1): void {
    this.#faults.set(`${name} ${this.count(name) + later}`, result);
  }

  /** Everything made and not freed. */
  leaks(): string[] {
    return this.#state.leaks();
  }

  /** A context of the caller, current or not. */
  createContext(device = 0, current = true): bigint {
    this.#state.initialized = true;
    const { handle } = this.#state.createContext(device);
    if (current) this.#state.stack.push(handle);
    return handle;
  }

  /** CUcontext that is current, 0n when none is. */
  get currentContext(): bigint {
    return this.#state.stack.at(-1) ?? 0n;
  }

  popContext(): void {
    this.#state.stack.pop();
  }

  #functions(version: number, kernels: readonly FakeKernel[]): CudaFunctions {
    const state = this.#state;
    const inContext = (work: (context: FakeContext) => number): number => {
      const context = state.current();
      return typeof context === 'number' ? context : work(context);
    };
    return {
      ...memoryCalls(state, inContext),
      ...streamCalls(state, inContext),
      ...kernelCalls(state, kernels, this.#images, ptxVersionOf(version), inContext),
      ...this.#deviceAndContextCalls(version, inContext),
    };
  }

  #deviceAndContextCalls(
    version: number,
    inContext: (work: (context: FakeContext) => number) => number,
  ): Rest {
    const state = this.#state;
    const { devices, stack } = state;
    const set = (out: unknown, value: number | bigint) => {
      (out as (number | bigint)[])[0] = value;
      return RESULT.SUCCESS;
    };
    // Texts of a driver stay where they are.
    const texts = new Map<string, ArrayBuffer>();
    const text = (out: unknown, words: string) => {
      const bytes = texts.get(words) ?? new TextEncoder().encode(`${words}\0`).slice().buffer;
      texts.set(words, bytes);
      return set(out, state.memory.hostAddress(bytes));
    };
    const nameOf = (result: number) =>
      Object.entries(RESULT).find(([, number]) => number === result)?.[0];
    const withDevice = (handle: number, work: (device: FakeDevice) => number) => {
      if (!state.initialized) return RESULT.NOT_INITIALIZED;
      const device = devices[handle];
      return device === undefined ? RESULT.INVALID_DEVICE : work(device);
    };
    const primaryOf = (device: number) =>
      state.contexts.find((context) => context.device === device && context.retained >= 0);
    return {
      cuInit: () => {
        if (devices.length === 0) return RESULT.NO_DEVICE;
        state.initialized = true;
        return RESULT.SUCCESS;
      },
      cuDriverGetVersion: (out) => set(out, version),
      cuGetErrorName: (result, out) => {
        const name = nameOf(result);
        if (name === undefined) return RESULT.INVALID_VALUE;
        return text(out, result === 0 ? 'CUDA_SUCCESS' : `CUDA_ERROR_${name}`);
      },
      cuGetErrorString: (result, out) => {
        const name = nameOf(result);
        if (name === undefined) return RESULT.INVALID_VALUE;
        return text(out, name.toLowerCase().replaceAll('_', ' '));
      },
      cuDeviceGetCount: (out) => set(out, devices.length),
      cuDeviceGet: (out, ordinal) => withDevice(ordinal, () => set(out, ordinal)),
      cuDeviceGetName: (out, length, handle) =>
        withDevice(handle, ({ name = 'Fake H200' }) => {
          new TextEncoder().encodeInto(`${name}\0`, (out as Uint8Array).subarray(0, length));
          return RESULT.SUCCESS;
        }),
      cuDeviceGetUuid: (out, handle) =>
        withDevice(handle, () => {
          (out as Uint8Array).set(Array.from({ length: 16 }, (_, index) => 16 * handle + index));
          return RESULT.SUCCESS;
        }),
      cuDeviceGetAttribute: (out, attribute, handle) =>
        withDevice(handle, (device) => {
          const value = deviceAttribute(device, attribute);
          return value === undefined ? RESULT.INVALID_VALUE : set(out, value);
        }),
      cuDeviceTotalMem_v2: (out, handle) =>
        withDevice(handle, ({ memoryBytes = 2 ** 30 }) => set(out, BigInt(memoryBytes))),
      cuDevicePrimaryCtxRetain: (out, handle) =>
        withDevice(handle, () => {
          const context = primaryOf(handle) ?? state.createContext(handle);
          context.retained = Math.max(context.retained, 0) + 1;
          return set(out, context.handle);
        }),
      cuDevicePrimaryCtxRelease_v2: (handle) =>
        withDevice(handle, () => {
          const context = primaryOf(handle);
          if (context === undefined || context.retained === 0) return RESULT.INVALID_CONTEXT;
          context.retained -= 1;
          return RESULT.SUCCESS;
        }),
      cuCtxGetCurrent: (out) =>
        state.initialized ? set(out, stack.at(-1) ?? 0n) : RESULT.NOT_INITIALIZED,
      cuCtxSetCurrent: (handle) => {
        if (handle !== 0n && state.contextOf(handle) === undefined) return RESULT.INVALID_CONTEXT;
        stack.pop();
        if (handle !== 0n) stack.push(handle);
        return RESULT.SUCCESS;
      },
      cuCtxPushCurrent_v2: (handle) => {
        if (state.contextOf(handle) === undefined) return RESULT.INVALID_CONTEXT;
        stack.push(handle);
        return RESULT.SUCCESS;
      },
      cuCtxPopCurrent_v2: (out) => {
        const handle = stack.pop();
        return handle === undefined ? RESULT.INVALID_CONTEXT : set(out, handle);
      },
      cuCtxGetDevice: (out) => inContext(({ device }) => set(out, device)),
      cuCtxSynchronize: () => inContext((context) => state.drain(context)),
    };
  }
}
