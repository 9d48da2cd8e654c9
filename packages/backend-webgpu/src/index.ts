/**
 * @lowbit-kv/backend-webgpu: packed pages and attention on a GPUDevice.
 */
export { type WebGpuBackendOptions, webgpuBackend } from './webgpu-backend.js';
