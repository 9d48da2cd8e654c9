/**
 * The driver, opened and found new enough: where devices come from.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Context } from './context.js';
import { Device } from './device.js';
import { callFailure, checkCall } from './failure.js';
import type { CudaDriver } from './functions.js';
import { type LibraryOptions, openLibrary } from './library.js';
import { RESULT } from './results.js';
import { type CudaVersion, cudaVersionText, driverAdvice, MINIMUM_CUDA } from './version.js';

export interface CudaOptions extends LibraryOptions {
  /** Instead of the library of this machine. */
  readonly driver?: CudaDriver;
  /** Oldest CUDA version that the driver must support; images may need more than the calls do. */
  readonly minimumVersion?: CudaVersion;
  /** For messages about cards that it hides. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Opens the driver. Throws BACKEND_UNAVAILABLE: no library, a driver that is too old, no card. */
export async function openCuda(options: CudaOptions = {}): Promise<Cuda> {
  const driver = options.driver ?? (await openLibrary(options));
  const version = driverVersion(driver, options.minimumVersion ?? MINIMUM_CUDA);
  const deviceCount = countDevices(driver, options.environment ?? process.env);
  return new Cuda(driver, version, deviceCount);
}

export class Cuda {
  readonly driver: CudaDriver;
  /** Newest CUDA version that the driver supports. */
  readonly version: CudaVersion;
  readonly deviceCount: number;
  /** Contexts that are entered now, innermost last; see `Context.enter`. */
  readonly entered: Context[] = [];

  constructor(driver: CudaDriver, version: CudaVersion, deviceCount: number) {
    this.driver = driver;
    this.version = version;
    this.deviceCount = deviceCount;
  }

  /** Device by its number among those that CUDA_VISIBLE_DEVICES leaves. Throws OPTION_INVALID. */
  device(ordinal = 0): Device {
    if (!Number.isInteger(ordinal) || ordinal < 0 || ordinal >= this.deviceCount) {
      throw new LowbitKvError('OPTION_INVALID', {
        message: 'no CUDA device has this number',
        value: ordinal,
        valid: Array.from({ length: this.deviceCount }, (_, index) => index),
        next: 'Pass the number of a device; `lowbit-kv doctor` lists them.',
      });
    }
    return new Device(this, ordinal);
  }

  devices(): Device[] {
    return Array.from({ length: this.deviceCount }, (_, ordinal) => this.device(ordinal));
  }
}

function driverVersion(driver: CudaDriver, minimum: CudaVersion): CudaVersion {
  const version = new Int32Array(1);
  checkCall(driver, 'cuDriverGetVersion', driver.cuDriverGetVersion(version));
  if (version[0]! < minimum) {
    throw new LowbitKvError('BACKEND_UNAVAILABLE', {
      message: 'the NVIDIA driver is too old',
      value: `a driver for CUDA ${cudaVersionText(version[0]!)}`,
      valid: `a driver for CUDA ${cudaVersionText(minimum)} or newer`,
      next: driverAdvice(minimum),
    });
  }
  return version[0]!;
}

function countDevices(
  driver: CudaDriver,
  environment: Readonly<Record<string, string | undefined>>,
): number {
  const count = new Int32Array(1);
  const initialized = driver.cuInit(0);
  if (initialized === RESULT.SUCCESS) {
    checkCall(driver, 'cuDeviceGetCount', driver.cuDeviceGetCount(count));
  } else if (initialized !== RESULT.NO_DEVICE) {
    throw callFailure(driver, 'cuInit', initialized, {
      message: 'the NVIDIA driver does not start',
    });
  }
  if (count[0]! > 0) return count[0]!;
  const visible = environment.CUDA_VISIBLE_DEVICES;
  throw new LowbitKvError('BACKEND_UNAVAILABLE', {
    message:
      visible === undefined
        ? 'the NVIDIA driver finds no card'
        : 'the NVIDIA driver finds no card that CUDA_VISIBLE_DEVICES leaves',
    value: visible === undefined ? 0 : `CUDA_VISIBLE_DEVICES=${visible}`,
    valid: 'at least one CUDA device',
    next:
      visible === undefined
        ? '`nvidia-smi` must list the card; in a container, start it with access to the GPU.'
        : 'Unset CUDA_VISIBLE_DEVICES, or name a card that `nvidia-smi` lists.',
  });
}
