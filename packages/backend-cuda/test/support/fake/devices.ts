/**
 * Devices of the fake driver.
 */

export interface FakeDevice {
  readonly name?: string;
  /** 10 * major + minor. */
  readonly capability?: number;
  readonly memoryBytes?: number;
  readonly multiprocessors?: number;
}

/** Values of CUdevice_attribute. */
export function deviceAttribute(device: FakeDevice, attribute: number): number | undefined {
  const { capability = 90, multiprocessors = 132 } = device;
  const values: Record<number, number> = {
    1: 1024,
    5: 2 ** 31 - 1,
    6: 65_535,
    7: 65_535,
    8: 49_152,
    10: 32,
    16: multiprocessors,
    38: 62_914_560,
    39: 2048,
    75: Math.floor(capability / 10),
    76: capability % 10,
    81: 233_472,
    82: 65_536,
    97: 232_448,
    106: 32,
    111: 1024,
    115: 1,
  };
  return values[attribute];
}
