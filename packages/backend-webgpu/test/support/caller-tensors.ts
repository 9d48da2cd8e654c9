/**
 * A plan, drawn numbers and buffers for tests in which tensors and encoders are the caller's.
 */
import {
  type Cache,
  createCache,
  createPlan,
  type Plan,
  referenceBackend,
  type Sequence,
} from '@lowbit-kv/core';
import { asymmetric, inlineScheme, lcgNormal } from '@lowbit-kv/core/testing';
import { expect } from 'vitest';
import { type WebGpuBackend, webgpuBackend } from '../../src/index.js';
import { swiftShaderDevice } from './swiftshader.js';

export const HEADS = 2;
export const QUERY_HEADS = 4;
export const DIM = 32;
export const plan: Plan = createPlan(
  inlineScheme({
    key: asymmetric(4, 'tokens', 32),
    value: asymmetric(2, 'channels', 32, { recent: 4, flush: 4 }),
  }),
  { layers: 1, queryHeads: QUERY_HEADS, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM },
);

export const capacity = { sequences: 4, tokens: 768 };

export interface CallerDevice {
  readonly device: GPUDevice;
  readonly backend: WebGpuBackend;
  /** Of the plan, on the reference backend. */
  readonly reference: Cache;
  /** A cache of the plan on the device. */
  readonly open: (nonFinite?: 'error' | 'mask') => Promise<Cache>;
  readonly close: () => void;
}

export async function callerDevice(): Promise<CallerDevice> {
  const device = await swiftShaderDevice();
  const backend = webgpuBackend({ device });
  return {
    device,
    backend,
    reference: await createCache(plan, referenceBackend(), { capacity }),
    open: (nonFinite = 'error') => createCache(plan, backend, { capacity, nonFinite }),
    close() {
      backend.dispose();
      device.destroy();
    },
  };
}

export function randomHalves(count: number, seed: number): Uint16Array {
  return lcgNormal({ seed, shape: [count], dtype: 'f16' });
}

export function randomFloats(count: number, seed: number): Float32Array {
  return lcgNormal({ seed, shape: [count], dtype: 'f32' });
}

/** A buffer that holds these bytes from byte `at` on, with rubbish before. */
export function bufferOf(device: GPUDevice, data: Uint16Array | Float32Array, at = 0): GPUBuffer {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const size = Math.ceil((at + bytes.length) / 4) * 4;
  const padded = new Uint8Array(size).fill(0x5a);
  padded.set(bytes, at);
  const buffer = device.createBuffer({ size, usage: 0x8c });
  device.queue.writeBuffer(buffer, 0, padded);
  return buffer;
}

export async function readFloats(
  device: GPUDevice,
  buffer: GPUBuffer,
  count: number,
  at = 0,
): Promise<Float32Array> {
  const staging = device.createBuffer({ size: count * 4, usage: 0x9 });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, at, staging, 0, count * 4);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  const result = new Float32Array(staging.getMappedRange()).slice();
  staging.destroy();
  return result;
}

/** A buffer to copy these halves from, in an encoder. */
export function copySource(device: GPUDevice, halves: Uint16Array): GPUBuffer {
  const buffer = device.createBuffer({
    size: halves.byteLength,
    usage: 0x4,
    mappedAtCreation: true,
  });
  new Uint16Array(buffer.getMappedRange()).set(halves);
  buffer.unmap();
  return buffer;
}

export async function blocksOf(cache: Cache, sequence: Sequence, layer = 0): Promise<string> {
  const blocks = [
    await cache.exportBlocks(sequence, layer, 'key'),
    await cache.exportBlocks(sequence, layer, 'value'),
  ];
  expect(blocks.flat().length).toBeGreaterThan(1);
  return JSON.stringify(blocks, (_, value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
  );
}

export const shape = (tokens: number, heads = HEADS) => [tokens, heads, DIM];
