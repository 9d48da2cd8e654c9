// What of a caller's tensors and work cannot be used is refused, and nothing of it is stored.
import { createCache, f16Tensor, LowbitKvError } from '@lowbit-kv/core';
import { afterAll, describe, expect, it } from 'vitest';
import { gpuTensor, webgpuBackend } from '../src/index.js';
import {
  blocksOf,
  bufferOf,
  callerDevice,
  capacity,
  DIM,
  HEADS,
  plan,
  randomHalves,
  shape,
} from './support/caller-tensors.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const { backend, close, device, open, reference } = await callerDevice();
afterAll(close);

describe('what cannot be used is refused', () => {
  it.each([
    [
      'no STORAGE',
      () =>
        gpuTensor(device.createBuffer({ size: 4096, usage: 0xc }), {
          type: 'f16',
          shape: shape(2),
        }),
    ],
    [
      'too small',
      () =>
        gpuTensor(device.createBuffer({ size: 64, usage: 0x80 }), { type: 'f16', shape: shape(2) }),
    ],
    [
      'strides that leave the buffer',
      () =>
        gpuTensor(device.createBuffer({ size: 256, usage: 0x80 }), {
          type: 'f16',
          shape: shape(2),
          strides: [4096, DIM],
        }),
    ],
    [
      'a negative offset',
      () =>
        gpuTensor(device.createBuffer({ size: 256, usage: 0x80 }), {
          type: 'f16',
          shape: shape(1),
          offset: -1,
        }),
    ],
  ])('%s', (_, make) => {
    expect(make).toThrow(LowbitKvError);
    expect(make).toThrow(/TENSOR_INVALID/);
  });

  it('a tensor that was described as another', async () => {
    const cache = await open();
    const sequence = cache.createSequence();
    const buffer = bufferOf(device, randomHalves(2 * HEADS * DIM, 7));
    const one = gpuTensor(buffer, { type: 'f16', shape: shape(1) });
    for (const renamed of [
      { ...one, shape: shape(2) },
      { ...gpuTensor(buffer, { type: 'f16', shape: shape(2) }), type: 'bf16' },
    ] as const) {
      const step = cache.step([{ sequence, tokens: 2 }]);
      expect(() => step.append(0, renamed, renamed)).toThrow(
        expect.objectContaining({
          code: 'TENSOR_INVALID',
          summary: 'not what its memory was described as',
          next: expect.stringContaining('gpuTensor(buffer, '),
        }),
      );
      step.abandon();
    }
    cache.dispose();
  });

  it('a buffer destroyed before its work is submitted', async () => {
    const cache = await open('mask');
    const sequence = cache.createSequence();
    const buffer = bufferOf(device, randomHalves(2 * HEADS * DIM, 7));
    const tensor = gpuTensor(buffer, { type: 'f16', shape: shape(2) });
    const step = cache.step([{ sequence, tokens: 2 }]);
    step.append(0, tensor, tensor);
    buffer.destroy();
    await expect(step.commit()).rejects.toMatchObject({ code: 'BACKEND_FAILED' });
    expect(sequence.length).toBe(0);
    const rows = f16Tensor(randomHalves(2 * HEADS * DIM, 8), shape(2));
    await cache.append([{ sequence, tokens: 2 }], [{ key: rows, value: rows }]);
    expect(sequence.length).toBe(2);
    cache.dispose();
  });

  it('work that went down with the work of another step is not taken for done', async () => {
    const cache = await open('mask');
    const [first, second] = [cache.createSequence(), cache.createSequence()];
    const rows = f16Tensor(randomHalves(40 * HEADS * DIM, 22), shape(40));
    const buffer = bufferOf(device, rows.data as Uint16Array);
    const tensor = gpuTensor(buffer, { type: 'f16', shape: shape(40) });
    const [bad, good] = [
      cache.step([{ sequence: first, tokens: 40 }]),
      cache.step([{ sequence: second, tokens: 40 }]),
    ];
    bad.append(0, tensor, tensor);
    good.append(0, rows, rows);
    buffer.destroy();
    const outcomes = await Promise.allSettled([bad.commit(), good.commit()]);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'BACKEND_FAILED' } });
    expect([first.length, second.length]).toEqual([0, 0]);
    await cache.append([{ sequence: second, tokens: 40 }], [{ key: rows, value: rows }]);
    const theirs = reference.createSequence();
    await reference.append([{ sequence: theirs, tokens: 40 }], [{ key: rows, value: rows }]);
    expect(await blocksOf(cache, second)).toBe(await blocksOf(reference, theirs));
    cache.dispose();
  });

  it('a cache larger than the device can bind names the limits', async () => {
    await expect(
      createCache(plan, backend, { capacity: { tokens: 1 << 25 } }),
    ).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
      next: expect.stringContaining('maxStorageBufferBindingSize'),
    });
  });

  it('everything, once the device is lost', async () => {
    const lost = await swiftShaderDevice();
    const own = webgpuBackend({ device: lost });
    const cache = await createCache(plan, own, { capacity });
    const sequence = cache.createSequence();
    const rows = f16Tensor(randomHalves(40 * HEADS * DIM, 9), shape(40));
    await cache.append([{ sequence, tokens: 40 }], [{ key: rows, value: rows }]);
    lost.destroy();
    await lost.lost;
    await expect(
      cache.append([{ sequence, tokens: 40 }], [{ key: rows, value: rows }]),
    ).rejects.toMatchObject({ code: 'BACKEND_FAILED' });
    await expect(cache.exportBlocks(sequence, 0, 'key')).rejects.toMatchObject({
      code: 'BACKEND_FAILED',
    });
    expect(sequence.length).toBe(40);
    cache.dispose();
  });
});

it('a value that is not finite faults at commit, and nothing is stored', async () => {
  const cache = await open();
  const sequence = cache.createSequence();
  const data = randomHalves(5 * HEADS * DIM, 4);
  data[(3 * HEADS + 1) * DIM + 7] = 0x7c00;
  const good = bufferOf(device, randomHalves(5 * HEADS * DIM, 5));
  const tensor = (buffer: GPUBuffer) => gpuTensor(buffer, { type: 'f16', shape: shape(5) });
  const step = cache.step([{ sequence, tokens: 5 }]);
  step.append(0, tensor(good), tensor(bufferOf(device, data)));
  await expect(step.commit()).rejects.toMatchObject({
    code: 'NON_FINITE',
    summary: 'a value is not finite in f16',
    value: `element ${(3 * HEADS + 1) * DIM + 7}`,
    valid: 'finite numbers up to 65504 in magnitude',
    next: expect.stringContaining("nonFinite: 'mask'"),
    where: { tensor: 'value', layer: 0, sequence: 0, head: 1, token: 3, channel: 7 },
  });
  expect(sequence.length).toBe(0);
  const again = cache.step([{ sequence, tokens: 5 }]);
  again.append(0, tensor(good), tensor(good));
  await again.commit();
  expect(sequence.length).toBe(5);
  cache.dispose();
});
