/**
 * libcuda through koffi. koffi and the library are loaded when asked for, each function when it is first called: a
 * driver without a function is refused only by who needs it.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import {
  type ArgumentType,
  CUDA_FUNCTIONS,
  type CudaDriver,
  type CudaFunctionName,
} from './functions.js';
import { type Koffi, type Library, requireKoffi } from './koffi.js';
import { cudaVersionText, driverAdvice, MINIMUM_CUDA } from './version.js';

type NativeFunction = (...values: unknown[]) => number;

/** Types in koffi's words. Addresses travel as integers, which is faster than as pointers. */
const KOFFI_TYPES: Record<ArgumentType, string> = {
  u8: 'uint8',
  u32: 'uint32',
  i32: 'int32',
  u64: 'uint64',
  size: 'size_t',
  out: 'void *',
  host: 'void *',
  address: 'uint64',
};

/** Where the driver puts its library: the loader's own search first, then WSL, whose folder is not always searched. */
export function libraryNames(platform: NodeJS.Platform): readonly string[] {
  if (platform === 'win32') return ['nvcuda.dll'];
  if (platform === 'linux') return ['libcuda.so.1', '/usr/lib/wsl/lib/libcuda.so.1'];
  return [];
}

export interface LibraryOptions {
  /** Path of libcuda, instead of where the driver puts it. */
  readonly library?: string;
  readonly platform?: NodeJS.Platform;
}

/** Throws BACKEND_UNAVAILABLE when koffi or libcuda does not load. */
export async function openLibrary({
  library,
  platform = process.platform,
}: LibraryOptions = {}): Promise<CudaDriver> {
  const names = library === undefined ? libraryNames(platform) : [library];
  if (names.length === 0) {
    throw new LowbitKvError('BACKEND_UNAVAILABLE', {
      message: 'there is no CUDA driver for this platform',
      value: platform,
      valid: ['linux', 'win32'],
      next: 'Use another backend.',
    });
  }
  const koffi = requireKoffi();
  const failures: unknown[] = [];
  for (const name of names) {
    try {
      return bind(koffi, koffi.load(name), name);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  throw new LowbitKvError('BACKEND_UNAVAILABLE', {
    message: 'the library of the NVIDIA driver does not load',
    value: failures.join('; '),
    valid: names,
    next: `${driverAdvice(MINIMUM_CUDA)} In a container, start it with access to the GPU.`,
  });
}

function bind(koffi: Koffi, library: Library, name: string): CudaDriver {
  const driver = {
    library: name,
    addressOf: (buffer: ArrayBuffer) => BigInt(koffi.address(buffer)),
    viewAt: (address: bigint, bytes: number) => koffi.view(address, bytes),
    textAt: (address: bigint) => koffi.decode.string(address),
  } as Record<string, unknown>;
  for (const call of Object.keys(CUDA_FUNCTIONS) as CudaFunctionName[]) {
    driver[call] = (...values: unknown[]) => {
      const native = resolve(library, call, driver as unknown as CudaDriver);
      driver[call] = native;
      return native(...values);
    };
  }
  return driver as unknown as CudaDriver;
}

function resolve(library: Library, call: CudaFunctionName, driver: CudaDriver): NativeFunction {
  const types = CUDA_FUNCTIONS[call].map((type) => KOFFI_TYPES[type]);
  try {
    return library.func(call, 'int32', types) as NativeFunction;
  } catch (cause) {
    // Every driver has this one; asking it about itself would not end.
    const version = new Int32Array(1);
    if (call !== 'cuDriverGetVersion') driver.cuDriverGetVersion(version);
    throw new LowbitKvError('BACKEND_UNAVAILABLE', {
      message: `the NVIDIA driver has no function ${call}`,
      value:
        version[0] === 0 ? driver.library : `a driver for CUDA ${cudaVersionText(version[0]!)}`,
      valid: `a driver for CUDA ${cudaVersionText(MINIMUM_CUDA)} or newer`,
      next: driverAdvice(MINIMUM_CUDA),
      cause,
    });
  }
}
