/**
 * NVRTC, which compiles CUDA C++ at run time, as far as this package uses it.
 */
import type { CudaVersion } from '../driver/version.js';

export interface NvrtcProgram {
  readonly source: string;
  /** Texts by the names that #include gives them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly options: readonly string[];
  /** As the architecture of the options is real or virtual. */
  readonly kind: 'machineCode' | 'ptx';
}

export interface NvrtcResult {
  /** What the driver loads; undefined where the program has errors. */
  readonly image: Uint8Array | undefined;
  readonly log: string;
}

export interface Nvrtc {
  /** Where it was found. */
  readonly library: string;
  /** Of the CUDA that it is part of. */
  readonly version: CudaVersion;
  /** That it makes code for: 10 * major + minor of their compute capability. */
  readonly architectures: readonly number[];
  compile(program: NvrtcProgram): NvrtcResult;
}

/** CUDA 12.0: the first that compiles C++20. */
export const MINIMUM_NVRTC: CudaVersion = 12_000;

export const NVRTC_ADVICE =
  'install NVRTC of the CUDA version of your driver (apt: cuda-nvrtc-13-0 or cuda-nvrtc-12-9; pip: nvidia-cuda-nvrtc or nvidia-cuda-nvrtc-cu12), and pass the path of its library as `nvrtc` to `cudaBackend` where the loader does not find it.';
