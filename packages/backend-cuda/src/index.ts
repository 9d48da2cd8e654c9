/**
 * @lowbit-kv/backend-cuda: the NVIDIA driver through koffi. Importing it loads neither.
 */
export { CapturedStep, type CapturedStepOptions, type StepRun } from './captured-step.js';
export {
  type CudaBackend,
  type CudaBackendOptions,
  cudaBackend,
  probe,
} from './cuda-backend.js';
export { type CudaTensorOptions, cudaTensor } from './cuda-tensor.js';
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
export type { Nvrtc, NvrtcProgram, NvrtcResult } from './nvrtc/nvrtc.js';
