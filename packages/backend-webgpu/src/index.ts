/**
 * @lowbit-kv/backend-webgpu: packed pages and attention on a GPUDevice.
 */
export type { Recording } from './device/recorder.js';
export { type GpuTensorOptions, gpuTensor } from './gpu-tensor.js';
export { type Recordable, Stopwatch, timed } from './stopwatch.js';
export {
  type WarmUpOptions,
  type WebGpuBackend,
  type WebGpuBackendOptions,
  webgpuBackend,
} from './webgpu-backend.js';
