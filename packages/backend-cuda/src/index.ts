/**
 * @lowbit-kv/backend-cuda: the NVIDIA driver through koffi. Importing it loads neither.
 */
import type { BackendProbe } from '@lowbit-kv/core';
import type { CudaOptions } from './driver/cuda.js';
import { probeCuda } from './driver/probe.js';
import { kernelManifest } from './images.js';

export interface CudaProbeOptions extends CudaOptions {
  /** Number of the device; the first where none is given. */
  readonly device?: number;
}

/** Whether the kernels of this package run here, which nothing in it launches yet; never throws for what a machine lacks. */
export async function probe(options: CudaProbeOptions = {}): Promise<BackendProbe> {
  const found = await probeCuda({ images: () => kernelManifest().images, ...options });
  if (!found.ok) return found;
  return {
    ok: false,
    reason: `${found.device}: this version of the package has kernels, and no backend that launches them`,
    next: 'Use another backend.',
  };
}

export { Context, type Disposable } from './driver/context.js';
export { Cuda, type CudaOptions, openCuda } from './driver/cuda.js';
export {
  type ComputeCapability,
  Device,
  type DeviceAttribute,
  type DeviceProperties,
} from './driver/device.js';
export { DeviceMemory, DeviceRange } from './driver/device-memory.js';
export { Event, type EventOptions } from './driver/event.js';
export { CudaCallError } from './driver/failure.js';
export type {
  CudaDriver,
  CudaFunctionName,
  CudaFunctions,
  HostMemory,
} from './driver/functions.js';
export { Graph } from './driver/graph.js';
export { Kernel, type KernelAttributes } from './driver/kernel.js';
export { type Extent, Launch, type LaunchShape } from './driver/launch.js';
export { Module } from './driver/module.js';
export type { ParameterType, ParameterValue } from './driver/parameter-block.js';
export { PinnedMemory } from './driver/pinned-memory.js';
export { Stream, type StreamOptions } from './driver/stream.js';
export { UploadRing, type UploadRingOptions } from './driver/upload-ring.js';
export { MINIMUM_CUDA } from './driver/version.js';
