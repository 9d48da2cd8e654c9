/** Fetched only where there is an adapter. */
export { webgpuBackend } from '@lowbit-kv/backend-webgpu';
