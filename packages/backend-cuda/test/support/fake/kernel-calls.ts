/**
 * Module and launch calls of the fake driver.
 */
import type { CudaFunctions } from '../../../src/driver/functions.js';
import { RESULT } from '../../../src/driver/results.js';
import { type FakeImages, loadImage } from './images.js';
import { DeviceAccess, type Dimensions, type FakeKernel, readParameters } from './kernels.js';
import type { FakeContext, FakeState } from './state.js';
import { FakeViolation } from './violation.js';

type Calls = Pick<
  CudaFunctions,
  Extract<
    keyof CudaFunctions,
    `cuModule${string}` | `cuFunc${string}` | `cuLaunch${string}` | `cuOccupancy${string}`
  >
>;

const JIT_INFO_LOG = 3;
const JIT_ERROR_LOG = 5;
const MAX_DYNAMIC_SHARED_BYTES = 8;
const DEFAULT_SHARED_BYTES = 49_152;
const OPT_IN_SHARED_BYTES = 232_448;
const PROGRAMMATIC_STREAM_SERIALIZATION = 6;

interface LaunchRequest {
  readonly function: bigint;
  readonly grid: Dimensions;
  readonly block: Dimensions;
  readonly sharedBytes: number;
  readonly stream: bigint;
  readonly parameters: bigint;
  readonly overlapsPrevious: boolean;
}

export function kernelCalls(
  state: FakeState,
  kernels: readonly FakeKernel[],
  images: FakeImages,
  ptxVersion: number,
  inContext: (work: (context: FakeContext) => number) => number,
): Calls {
  const { memory } = state;

  const writeLog = (options: Uint8Array, values: Uint8Array, option: number, text: string) => {
    const ids = new Int32Array(options.slice().buffer);
    const index = ids.indexOf(option);
    if (ids[index + 1] !== option + 1) throw new FakeViolation('a log buffer has no size');
    const words = new BigUint64Array(values.slice().buffer);
    const size = Number(words[index + 1]);
    const buffer = memory.find(words[index] ?? 0n, size, ['host']);
    if (buffer === undefined) throw new FakeViolation('a log buffer is at no host address');
    const { written } = new TextEncoder().encodeInto(text, buffer.subarray(0, size - 1));
    buffer[written] = 0;
  };

  const launch = (request: LaunchRequest) =>
    inContext((context) => {
      const { grid, block, sharedBytes, overlapsPrevious } = request;
      const found = state.get('function', request.function, context);
      const stream = state.stream(request.stream, context);
      if (found === undefined || stream === undefined) return RESULT.INVALID_HANDLE;
      if (state.get('module', found.module, context) === undefined)
        throw new FakeViolation('a kernel of an unloaded module is launched');
      const { kernel } = found;
      const threads = block[0] * block[1] * block[2];
      if (Math.min(...grid, ...block) < 1 || grid[1] > 65_535 || grid[2] > 65_535)
        return RESULT.INVALID_VALUE;
      if (threads > (kernel.maxThreadsPerBlock ?? 1024)) return RESULT.INVALID_VALUE;
      const allowed = Math.max(
        DEFAULT_SHARED_BYTES - (kernel.sharedBytes ?? 0),
        found.dynamicSharedBytes,
      );
      if (sharedBytes > allowed) return RESULT.INVALID_VALUE;
      const parameters = readParameters(memory, kernel.parameters, request.parameters);
      const access = new DeviceAccess(memory, context.device);
      return state.streams.enqueue(stream, () =>
        kernel.run({ grid, block, sharedBytes, parameters, memory: access, overlapsPrevious }),
      );
    });

  return {
    cuModuleLoadDataEx: (out, image, count, options, values) =>
      inContext((context) => {
        const { capability = 90 } = state.devices[context.device]!;
        const loaded = loadImage(image as Uint8Array, capability, ptxVersion);
        if (count > 0) {
          const [ids, words] = [options as Uint8Array, values as Uint8Array];
          writeLog(ids, words, JIT_INFO_LOG, loaded.infoLog);
          writeLog(ids, words, JIT_ERROR_LOG, loaded.errorLog);
        }
        if (loaded.result !== RESULT.SUCCESS) return loaded.result;
        const handle = state.add('module', context.handle, {
          entries: loaded.entries,
          kernels: images.kernelsOf(image as Uint8Array) ?? kernels,
        });
        (out as BigUint64Array)[0] = handle;
        return RESULT.SUCCESS;
      }),
    cuModuleUnload: (handle) =>
      inContext((context) => {
        if (state.get('module', handle, context) === undefined) return RESULT.INVALID_HANDLE;
        const result = state.drain(context);
        state.remove(handle);
        return result;
      }),
    cuModuleGetFunction: (out, module, name) =>
      inContext((context) => {
        const found = state.get('module', module, context);
        if (found === undefined) return RESULT.INVALID_HANDLE;
        const bytes = name as Uint8Array;
        if (bytes.at(-1) !== 0) throw new FakeViolation('a C string has no end');
        const text = new TextDecoder().decode(bytes.subarray(0, -1));
        const kernel = found.kernels.find((candidate) => candidate.name === text);
        const listed = found.entries === undefined || found.entries.includes(text);
        if (kernel === undefined || !listed) return RESULT.NOT_FOUND;
        const entry = { kernel, dynamicSharedBytes: 0, module };
        (out as BigUint64Array)[0] = state.add('function', context.handle, entry);
        return RESULT.SUCCESS;
      }),
    cuFuncGetAttribute: (out, attribute, handle) =>
      inContext((context) => {
        const found = state.get('function', handle, context);
        if (found === undefined) return RESULT.INVALID_HANDLE;
        const { kernel, dynamicSharedBytes } = found;
        const values: Record<number, number> = {
          0: kernel.maxThreadsPerBlock ?? 1024,
          1: kernel.sharedBytes ?? 0,
          2: 0,
          3: kernel.localBytes ?? 0,
          4: kernel.registers ?? 32,
          5: kernel.ptxVersion ?? 80,
          6: 90,
          8: Math.max(dynamicSharedBytes, DEFAULT_SHARED_BYTES),
        };
        if (values[attribute] === undefined) return RESULT.INVALID_VALUE;
        (out as Int32Array)[0] = values[attribute];
        return RESULT.SUCCESS;
      }),
    cuFuncSetAttribute: (handle, attribute, value) =>
      inContext((context) => {
        const found = state.get('function', handle, context);
        if (found === undefined) return RESULT.INVALID_HANDLE;
        const fits = value + (found.kernel.sharedBytes ?? 0) <= OPT_IN_SHARED_BYTES;
        if (attribute !== MAX_DYNAMIC_SHARED_BYTES || !fits) return RESULT.INVALID_VALUE;
        found.dynamicSharedBytes = value;
        return RESULT.SUCCESS;
      }),
    cuOccupancyMaxActiveBlocksPerMultiprocessor: (out, handle, threads, sharedBytes) =>
      inContext((context) => {
        const found = state.get('function', handle, context);
        if (found === undefined) return RESULT.INVALID_HANDLE;
        const { registers = 32, sharedBytes: own = 0 } = found.kernel;
        (out as Int32Array)[0] = Math.min(
          32,
          Math.floor(2048 / threads),
          Math.floor(65_536 / (registers * threads)),
          Math.floor(233_472 / (sharedBytes + own + 1024)),
        );
        return RESULT.SUCCESS;
      }),
    cuLaunchKernel: (
      handle,
      gridX,
      gridY,
      gridZ,
      blockX,
      blockY,
      blockZ,
      shared,
      stream,
      table,
      extra,
    ) => {
      if (extra !== 0n) throw new FakeViolation('parameters are given twice');
      return launch({
        function: handle,
        grid: [gridX, gridY, gridZ],
        block: [blockX, blockY, blockZ],
        sharedBytes: shared,
        stream,
        parameters: table,
        overlapsPrevious: false,
      });
    },
    cuLaunchKernelEx: (config, handle, table, extra) => {
      if (extra !== 0n) throw new FakeViolation('parameters are given twice');
      const bytes = memory.find(config, 56, ['host']);
      if (bytes === undefined) throw new FakeViolation('a launch config is at no host address');
      const view = new DataView(bytes.buffer, bytes.byteOffset, 56);
      const three = (offset: number): Dimensions => [
        view.getUint32(offset, true),
        view.getUint32(offset + 4, true),
        view.getUint32(offset + 8, true),
      ];
      let overlapsPrevious = false;
      for (let index = 0; index < view.getUint32(48, true); index++) {
        const address = view.getBigUint64(40, true) + BigInt(72 * index);
        const attribute = memory.find(address, 72, ['host']);
        if (attribute === undefined) throw new FakeViolation('an attribute is at no host address');
        const words = new DataView(attribute.buffer, attribute.byteOffset, 72);
        if (words.getUint32(0, true) !== PROGRAMMATIC_STREAM_SERIALIZATION)
          return RESULT.INVALID_VALUE;
        overlapsPrevious = words.getInt32(8, true) !== 0;
      }
      return launch({
        function: handle,
        grid: three(0),
        block: three(12),
        sharedBytes: view.getUint32(24, true),
        stream: view.getBigUint64(32, true),
        parameters: table,
        overlapsPrevious,
      });
    },
  };
}
