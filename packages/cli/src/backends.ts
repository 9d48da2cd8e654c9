/**
 * The backends that come with this command beside core's reference; native code is loaded only when asked for.
 */
import type { Backend } from '@lowbit-kv/core';

/** Values of `--backend`. */
export const BACKENDS = ['reference', 'onnx', 'webgpu', 'cuda'] as const;

/** What to register so that backend `id` exists. Throws PEER_MISSING or BACKEND_UNAVAILABLE. */
export async function createBackends(id: string): Promise<Backend[]> {
  if (id === 'onnx') {
    const { onnxBackend } = await import('@lowbit-kv/backend-onnx');
    // Steps of one token are too short for threads, which burn a core waiting; a second process uses that core better.
    return [onnxBackend({ intraOpNumThreads: 1 })];
  }
  if (id === 'webgpu') {
    const { openNodeGpu } = await import('@lowbit-kv/backend-webgpu/node');
    return [(await openNodeGpu()).backend];
  }
  if (id === 'cuda') {
    const { cudaBackend } = await import('@lowbit-kv/backend-cuda');
    const backend = cudaBackend();
    await backend.open();
    return [backend];
  }
  return [];
}
