/**
 * Decodes with a packed cache inside the engine's own command encoder: projections, packing and attention of a prompt and of
 * some tokens are recorded, submitted once, and only the last output is read back.
 */
import { gpuTensor, webgpuBackend } from '@lowbit-kv/backend-webgpu';
import { createCache, createPlan } from '@lowbit-kv/core';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { Engine } from './engine.js';

export const SHAPE = { queryHeads: 4, kvHeads: 2, headDim: 64 } as const;
export const PROMPT = Array.from({ length: 50 }, (_, i) => (i * 7) % 101);
export const DECODED = [3, 1, 4, 1, 5];

export const plan = createPlan(kivi({ bits: 4, groupSize: 32 }), {
  layers: 1,
  queryHeads: SHAPE.queryHeads,
  kvHeads: SHAPE.kvHeads,
  keyHeadDim: SHAPE.headDim,
  valueHeadDim: SHAPE.headDim,
});

/** Attention of the last decoded token, f32 `[queryHeads, headDim]`. */
export async function decode(device: GPUDevice): Promise<Float32Array> {
  const { queryHeads, kvHeads, headDim } = SHAPE;
  const backend = webgpuBackend({ device });
  const cache = await createCache(plan, backend, { capacity: { tokens: 256 }, nonFinite: 'mask' });
  await backend.warmUp(plan, { tokens: PROMPT.length, queries: 1, recordings: 1 + DECODED.length });
  const engine = new Engine(device, SHAPE, PROMPT.length);
  const sequence = cache.createSequence();
  const bytes = queryHeads * headDim * 4;
  const output = device.createBuffer({ size: bytes, usage: 0x84 }); // STORAGE | COPY_SRC
  const target = gpuTensor(output, { type: 'f32', shape: [1, queryHeads, headDim] });

  const encoder = device.createCommandEncoder();
  const recordings = [];
  for (const tokens of [PROMPT, ...DECODED.map((token) => [token])]) {
    engine.project(encoder, tokens);
    const { query, key, value } = engine.buffers;
    const rows = [tokens.length, kvHeads, headDim];
    const step = cache.step([{ sequence, tokens: tokens.length }]);
    recordings.push(
      backend.record(encoder, () => {
        step.append(
          0,
          gpuTensor(key, { type: 'f32', shape: rows }),
          gpuTensor(value, { type: 'f32', shape: rows }),
        );
        // Of the last token alone.
        const last = gpuTensor(query, {
          type: 'f32',
          shape: [1, queryHeads, headDim],
          offset: (tokens.length - 1) * queryHeads * headDim,
        });
        step.attend(0, last, { queries: [1], into: { output: target } });
      }),
    );
    await step.commit();
  }
  const staging = device.createBuffer({ size: bytes, usage: 0x9 }); // MAP_READ | COPY_DST
  encoder.copyBufferToBuffer(output, 0, staging, 0, bytes);
  device.queue.submit([encoder.finish()]);
  for (const recording of recordings) recording.submitted();
  await staging.mapAsync(1); // GPUMapMode.READ
  const result = new Float32Array(staging.getMappedRange()).slice();
  staging.destroy();
  cache.dispose();
  backend.dispose();
  return result;
}
