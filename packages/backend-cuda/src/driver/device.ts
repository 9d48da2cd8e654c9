/**
 * A CUDA device: what it is and what fits on it. Needs no context.
 */
import { CU } from './constants.js';
import type { Cuda } from './cuda.js';
import { checkCall } from './failure.js';

const ATTRIBUTE = {
  maxThreadsPerBlock: CU.DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
  maxGridX: CU.DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
  maxGridY: CU.DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
  maxGridZ: CU.DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
  sharedBytesPerBlock: CU.DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
  warpSize: CU.DEVICE_ATTRIBUTE_WARP_SIZE,
  multiprocessors: CU.DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
  l2Bytes: CU.DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
  threadsPerMultiprocessor: CU.DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
  computeMajor: CU.DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
  computeMinor: CU.DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
  sharedBytesPerMultiprocessor: CU.DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
  registersPerMultiprocessor: CU.DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
  sharedBytesPerBlockOptIn: CU.DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
  blocksPerMultiprocessor: CU.DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
  reservedSharedBytesPerBlock: CU.DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
  memoryPools: CU.DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
} as const;

export type DeviceAttribute = keyof typeof ATTRIBUTE;

export interface ComputeCapability {
  readonly major: number;
  readonly minor: number;
}

export interface DeviceProperties {
  readonly name: string;
  /** As nvidia-smi writes it. */
  readonly uuid: string;
  readonly computeCapability: ComputeCapability;
  readonly memoryBytes: number;
  /** Values of CUdevice_attribute. */
  readonly limits: Readonly<Record<DeviceAttribute, number>>;
}

const NAME_BYTES = 256;

export class Device {
  readonly cuda: Cuda;
  readonly ordinal: number;
  /** CUdevice. */
  readonly handle: number;
  #properties: DeviceProperties | undefined;

  constructor(cuda: Cuda, ordinal: number) {
    this.cuda = cuda;
    this.ordinal = ordinal;
    const handle = new Int32Array(1);
    this.#check('cuDeviceGet', cuda.driver.cuDeviceGet(handle, ordinal));
    this.handle = handle[0]!;
  }

  /** Asked once. */
  get properties(): DeviceProperties {
    this.#properties ??= this.#read();
    return this.#properties;
  }

  #read(): DeviceProperties {
    const { driver } = this.cuda;
    const name = new Uint8Array(NAME_BYTES);
    this.#check('cuDeviceGetName', driver.cuDeviceGetName(name, NAME_BYTES, this.handle));
    const uuid = new Uint8Array(16);
    this.#check('cuDeviceGetUuid', driver.cuDeviceGetUuid(uuid, this.handle));
    const memory = new BigUint64Array(1);
    this.#check('cuDeviceTotalMem_v2', driver.cuDeviceTotalMem_v2(memory, this.handle));
    const limits = Object.fromEntries(
      Object.entries(ATTRIBUTE).map(([key, attribute]) => [key, this.#attribute(attribute)]),
    ) as Record<DeviceAttribute, number>;
    return {
      name: new TextDecoder().decode(name.subarray(0, name.indexOf(0))),
      uuid: uuidText(uuid),
      computeCapability: { major: limits.computeMajor, minor: limits.computeMinor },
      memoryBytes: Number(memory[0]),
      limits,
    };
  }

  #attribute(attribute: number): number {
    const value = new Int32Array(1);
    const result = this.cuda.driver.cuDeviceGetAttribute(value, attribute, this.handle);
    this.#check('cuDeviceGetAttribute', result);
    return value[0]!;
  }

  #check(call: Parameters<typeof checkCall>[1], result: number): void {
    checkCall(this.cuda.driver, call, result, { where: { device: this.ordinal } });
  }
}

/** `9.0`. */
export function capabilityText({ major, minor }: ComputeCapability): string {
  return `${major}.${minor}`;
}

function uuidText(bytes: Uint8Array): string {
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const lengths = [8, 4, 4, 4, 12];
  let start = 0;
  const parts = lengths.map((length) => {
    start += length;
    return digits.slice(start - length, start);
  });
  return `GPU-${parts.join('-')}`;
}
