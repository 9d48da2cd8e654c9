/**
 * The functions of libcuda that this package calls, with their C types: the one table that the library, its types and
 * fakes in tests are made from. Arguments are CUDA's own, in CUDA's order; every function returns a CUresult.
 */

/**
 * C type of an argument.
 * - `u64`: CUdeviceptr, handles (CUcontext, CUstream, ...); `size`: size_t
 * - `out`: where the function writes one value: a typed array of the width of the C type (u64 for handles and size_t)
 * - `host`: host memory that is read or written by the call: a view, or the address of pinned memory
 * - `address`: an address in host memory that the call follows further, from `HostMemory.addressOf`; 0n is NULL
 */
export type ArgumentType = 'u8' | 'u32' | 'i32' | 'u64' | 'size' | 'out' | 'host' | 'address';

interface ArgumentValues {
  u8: number;
  u32: number;
  i32: number;
  u64: bigint;
  size: number;
  out: BigUint64Array | Int32Array | Float32Array | Uint8Array;
  host: Uint8Array | bigint;
  address: bigint;
}

export const CUDA_FUNCTIONS = {
  cuInit: ['u32'],
  cuDriverGetVersion: ['out'],
  cuGetErrorName: ['i32', 'out'],
  cuGetErrorString: ['i32', 'out'],

  cuDeviceGetCount: ['out'],
  cuDeviceGet: ['out', 'i32'],
  cuDeviceGetName: ['out', 'i32', 'i32'],
  cuDeviceGetUuid: ['out', 'i32'],
  cuDeviceGetAttribute: ['out', 'i32', 'i32'],
  cuDeviceTotalMem_v2: ['out', 'i32'],
  cuDevicePrimaryCtxRetain: ['out', 'i32'],
  cuDevicePrimaryCtxRelease_v2: ['i32'],

  cuCtxGetCurrent: ['out'],
  cuCtxSetCurrent: ['u64'],
  cuCtxPushCurrent_v2: ['u64'],
  cuCtxPopCurrent_v2: ['out'],
  cuCtxGetDevice: ['out'],
  cuCtxSynchronize: [],

  cuStreamCreate: ['out', 'u32'],
  cuStreamCreateWithPriority: ['out', 'u32', 'i32'],
  cuStreamDestroy_v2: ['u64'],
  cuStreamSynchronize: ['u64'],
  cuStreamQuery: ['u64'],
  cuStreamWaitEvent: ['u64', 'u64', 'u32'],
  cuStreamBeginCapture_v2: ['u64', 'i32'],
  cuStreamEndCapture: ['u64', 'out'],
  cuStreamIsCapturing: ['u64', 'out'],

  cuGraphInstantiateWithFlags: ['out', 'u64', 'u64'],
  cuGraphLaunch: ['u64', 'u64'],
  cuGraphExecDestroy: ['u64'],
  cuGraphDestroy: ['u64'],

  cuEventCreate: ['out', 'u32'],
  cuEventRecord: ['u64', 'u64'],
  cuEventElapsedTime: ['out', 'u64', 'u64'],
  cuEventQuery: ['u64'],
  cuEventSynchronize: ['u64'],
  cuEventDestroy_v2: ['u64'],

  cuMemAlloc_v2: ['out', 'size'],
  cuMemFree_v2: ['u64'],
  cuMemAllocAsync: ['out', 'size', 'u64'],
  cuMemFreeAsync: ['u64', 'u64'],
  cuMemAllocHost_v2: ['out', 'size'],
  cuMemFreeHost: ['address'],
  cuMemcpyHtoD_v2: ['u64', 'host', 'size'],
  cuMemcpyDtoH_v2: ['host', 'u64', 'size'],
  cuMemcpyHtoDAsync_v2: ['u64', 'host', 'size', 'u64'],
  cuMemcpyDtoHAsync_v2: ['host', 'u64', 'size', 'u64'],
  cuMemcpyDtoDAsync_v2: ['u64', 'u64', 'size', 'u64'],
  cuMemsetD8Async: ['u64', 'u8', 'size', 'u64'],
  cuMemsetD32Async: ['u64', 'u32', 'size', 'u64'],
  cuMemGetInfo_v2: ['out', 'out'],
  cuPointerGetAttribute: ['out', 'i32', 'u64'],

  cuModuleLoadDataEx: ['out', 'host', 'u32', 'host', 'host'],
  cuModuleGetFunction: ['out', 'u64', 'host'],
  cuModuleUnload: ['u64'],
  cuFuncGetAttribute: ['out', 'i32', 'u64'],
  cuFuncSetAttribute: ['u64', 'i32', 'i32'],
  cuOccupancyMaxActiveBlocksPerMultiprocessor: ['out', 'u64', 'i32', 'size'],

  // function, grid x y z, block x y z, shared bytes, stream, void **parameters, void **extra
  cuLaunchKernel: [
    ...(['u64', 'u32', 'u32', 'u32', 'u32', 'u32', 'u32'] as const),
    ...(['u32', 'u64', 'address', 'address'] as const),
  ],
  // const CUlaunchConfig *, function, void **parameters, void **extra
  cuLaunchKernelEx: ['address', 'u64', 'address', 'address'],
} as const satisfies Record<string, readonly ArgumentType[]>;

export type CudaFunctionName = keyof typeof CUDA_FUNCTIONS;

type Arguments<Types extends readonly ArgumentType[]> = {
  -readonly [Index in keyof Types]: ArgumentValues[Types[Index]];
};

/** Each returns a CUresult. */
export type CudaFunctions = {
  [Name in CudaFunctionName]: (...values: Arguments<(typeof CUDA_FUNCTIONS)[Name]>) => number;
};

/** Host memory as libcuda sees it. */
export interface HostMemory {
  /** Stays valid as long as the buffer: keep the buffer while anything holds the address. */
  addressOf(buffer: ArrayBuffer): bigint;
  /** A buffer over memory that the driver allocated. */
  viewAt(address: bigint, bytes: number): ArrayBuffer;
  /** C string at an address. */
  textAt(address: bigint): string;
}

/** What everything above is written against: libcuda through koffi, or a fake. */
export interface CudaDriver extends CudaFunctions, HostMemory {
  /** What was loaded, for messages. */
  readonly library: string;
}
