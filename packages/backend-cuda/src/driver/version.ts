/**
 * Versions: what a driver reports, and which driver has it.
 */

/** As cuDriverGetVersion gives it: 1000 * major + 10 * minor of the newest CUDA that the driver supports. */
export type CudaVersion = number;

/** CUDA 11.8: the first with cuLaunchKernelEx and machine code for compute capability 9.0. */
export const MINIMUM_CUDA: CudaVersion = 11_080;

/** First driver release of each CUDA version, from the release notes of the CUDA toolkit. */
const DRIVER_RELEASES: readonly (readonly [CudaVersion, number])[] = [
  [11_080, 520],
  [12_000, 525],
  [12_010, 530],
  [12_020, 535],
  [12_030, 545],
  [12_040, 550],
  [12_050, 555],
  [12_060, 560],
  [12_080, 570],
  [12_090, 575],
  [13_000, 580],
];

/** `12.4`. */
export function cudaVersionText(version: CudaVersion): string {
  return `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
}

/** The driver release that is surely new enough, or undefined when it is newer than this table. */
export function driverReleaseFor(version: CudaVersion): number | undefined {
  return DRIVER_RELEASES.find(([cuda]) => cuda >= version)?.[1];
}

/** What to install for a CUDA version. */
export function driverAdvice(version: CudaVersion): string {
  const release = driverReleaseFor(version);
  return release === undefined
    ? `Install an NVIDIA driver for CUDA ${cudaVersionText(version)} or newer.`
    : `Install NVIDIA driver ${release} or newer (CUDA ${cudaVersionText(version)}).`;
}
