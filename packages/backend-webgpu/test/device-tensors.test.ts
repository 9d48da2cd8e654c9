// Tensors in buffers of the caller, and work recorded into encoders of the caller.
import {
  type AttentionResult,
  type Cache,
  createCache,
  createPlan,
  type DeviceTensor,
  f16Tensor,
  f32Tensor,
  f32ToF16,
  type HostTensor,
  LowbitKvError,
  type Plan,
  referenceBackend,
  type Sequence,
  type TensorType,
} from '@lowbit-kv/core';
import { asymmetric, inlineScheme, lcgNormal } from '@lowbit-kv/core/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { gpuTensor, webgpuBackend } from '../src/index.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const device = await swiftShaderDevice();
const backend = webgpuBackend({ device });
afterAll(() => backend.dispose());

const HEADS = 2;
const QUERY_HEADS = 4;
const DIM = 32;
const plan: Plan = createPlan(
  inlineScheme({
    key: asymmetric(4, 'tokens', 32),
    value: asymmetric(2, 'channels', 32, { recent: 4, flush: 4 }),
  }),
  { layers: 1, queryHeads: QUERY_HEADS, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM },
);

const capacity = { sequences: 4, tokens: 768 };
const open = (nonFinite: 'error' | 'mask' = 'error') =>
  createCache(plan, backend, { capacity, nonFinite });
const reference = await createCache(plan, referenceBackend(), { capacity });

function randomHalves(count: number, seed: number): Uint16Array {
  return lcgNormal({ seed, shape: [count], dtype: 'f16' });
}

function randomFloats(count: number, seed: number): Float32Array {
  return lcgNormal({ seed, shape: [count], dtype: 'f32' });
}

/** A buffer that holds these bytes from byte `at` on, with rubbish before. */
function bufferOf(data: Uint16Array | Float32Array, at = 0): GPUBuffer {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const size = Math.ceil((at + bytes.length) / 4) * 4;
  const padded = new Uint8Array(size).fill(0x5a);
  padded.set(bytes, at);
  const buffer = device.createBuffer({ size, usage: 0x8c });
  device.queue.writeBuffer(buffer, 0, padded);
  return buffer;
}

async function readFloats(buffer: GPUBuffer, count: number, at = 0): Promise<Float32Array> {
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
function copySource(halves: Uint16Array): GPUBuffer {
  const buffer = device.createBuffer({
    size: halves.byteLength,
    usage: 0x4,
    mappedAtCreation: true,
  });
  new Uint16Array(buffer.getMappedRange()).set(halves);
  buffer.unmap();
  return buffer;
}

async function blocksOf(cache: Cache, sequence: Sequence, layer = 0): Promise<string> {
  const blocks = [
    await cache.exportBlocks(sequence, layer, 'key'),
    await cache.exportBlocks(sequence, layer, 'value'),
  ];
  expect(blocks.flat().length).toBeGreaterThan(1);
  return JSON.stringify(blocks, (_, value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
  );
}

const shape = (tokens: number, heads = HEADS) => [tokens, heads, DIM];

describe('keys, values and queries in buffers', () => {
  it.each<[TensorType, number]>([
    ['f16', 3],
    ['f32', 3],
    ['bf16', 3],
    ['f16', 8],
    ['f32', 16],
    ['bf16', 24],
  ])('%s, strided and shifted by %i, equal host tensors', async (type, offset) => {
    const cache = await open();
    const [mine, theirs] = [cache.createSequence(), reference.createSequence()];
    const tokens = 70;
    const halves = {
      key: randomHalves(tokens * HEADS * DIM, 1),
      value: randomHalves(tokens * HEADS * DIM, 2),
    };
    // [batch 2, heads, tokens 35, dim] of an engine, with a gap between heads.
    const [batchTokens, headGap] = [tokens / 2, 8];
    const headStride = batchTokens * DIM + headGap;
    const scattered = (data: Uint16Array) => {
      const bits = new Uint16Array(2 * HEADS * headStride).fill(0x7c00);
      for (let row = 0; row < tokens; row++)
        for (let head = 0; head < HEADS; head++)
          for (let channel = 0; channel < DIM; channel++) {
            const place =
              Math.floor(row / batchTokens) * HEADS * headStride +
              head * headStride +
              (row % batchTokens) * DIM +
              channel;
            bits[place] = data[(row * HEADS + head) * DIM + channel] as number;
          }
      return bits;
    };
    const host = (data: Uint16Array) => {
      // What the type can hold, as f16.
      const values = valuesOf(data, type);
      return f16Tensor(Uint16Array.from(values, f32ToF16), shape(tokens));
    };
    const inBuffer = (data: Uint16Array) => {
      const values = valuesOf(scattered(data), type);
      return gpuTensor(bufferOf(encoded(values, type), offset * (type === 'f32' ? 4 : 2)), {
        type,
        shape: [2, batchTokens, HEADS, DIM],
        offset,
        strides: [HEADS * headStride, DIM, headStride],
      });
    };
    const [a, b] = [
      cache.step([{ sequence: mine, tokens }]),
      reference.step([{ sequence: theirs, tokens }]),
    ];
    a.append(0, inBuffer(halves.key), inBuffer(halves.value));
    b.append(0, host(halves.key), host(halves.value));
    const queries = randomFloats(QUERY_HEADS * DIM, 3);
    const seen = { queries: [1], logSumExp: true };
    const query = gpuTensor(bufferOf(queries, 4), {
      type: 'f32',
      shape: shape(1, QUERY_HEADS),
      offset: 1,
    });
    const output = device.createBuffer({ size: 1024 + QUERY_HEADS * DIM * 4, usage: 0x8c });
    const into = {
      output: gpuTensor(output, { type: 'f32', shape: shape(1, QUERY_HEADS), offset: 256 }),
    };
    a.attend(0, query, { ...seen, into });
    const expected = await b.attend(0, f32Tensor(queries, shape(1, QUERY_HEADS)), seen).read();
    await Promise.all([a.commit(), b.commit()]);
    expect(await blocksOf(cache, mine)).toBe(await blocksOf(reference, theirs));
    const got = await readFloats(output, QUERY_HEADS * DIM, 1024);
    const largest = Math.max(...(expected.output.data as Float32Array).map(Math.abs));
    expect(largest).toBeGreaterThan(0.01);
    for (const [i, value] of got.entries())
      expect(Math.abs(value - (expected.output.data[i] as number))).toBeLessThan(1e-5 * largest);
    cache.dispose();
  });

  it('a value that is not finite faults at commit, and nothing is stored', async () => {
    const cache = await open();
    const sequence = cache.createSequence();
    const data = randomHalves(5 * HEADS * DIM, 4);
    data[(3 * HEADS + 1) * DIM + 7] = 0x7c00;
    const good = bufferOf(randomHalves(5 * HEADS * DIM, 5));
    const tensor = (buffer: GPUBuffer) => gpuTensor(buffer, { type: 'f16', shape: shape(5) });
    const step = cache.step([{ sequence, tokens: 5 }]);
    step.append(0, tensor(good), tensor(bufferOf(data)));
    await expect(step.commit()).rejects.toMatchObject({
      code: 'NON_FINITE',
      where: { tensor: 'value', layer: 0, sequence: 0, head: 1, token: 3, channel: 7 },
    });
    expect(sequence.length).toBe(0);
    const again = cache.step([{ sequence, tokens: 5 }]);
    again.append(0, tensor(good), tensor(good));
    await again.commit();
    expect(sequence.length).toBe(5);
    cache.dispose();
  });
});

describe('an encoder of the caller', () => {
  it('takes several steps, and gives what separate submissions give', async () => {
    const cache = await open('mask');
    const [mine, theirs] = [cache.createSequence(), reference.createSequence()];
    const outputs: GPUBuffer[] = [];
    const expected: Float32Array[] = [];
    const encoder = device.createCommandEncoder();
    const recordings = [];
    for (let i = 0; i < 6; i++) {
      const tokens = i === 0 ? 61 : 1;
      const [key, value] = [
        randomHalves(tokens * HEADS * DIM, 10 + i),
        randomHalves(tokens * HEADS * DIM, 30 + i),
      ];
      const query = randomFloats(QUERY_HEADS * DIM, 50 + i);
      const output = device.createBuffer({ size: QUERY_HEADS * DIM * 4, usage: 0x8c });
      outputs.push(output);
      const into = { output: gpuTensor(output, { type: 'f32', shape: shape(1, QUERY_HEADS) }) };
      const step = cache.step([{ sequence: mine, tokens }]);
      recordings.push(
        backend.record(encoder, () => {
          step.append(0, f16Tensor(key, shape(tokens)), f16Tensor(value, shape(tokens)));
          step.attend(0, f32Tensor(query, shape(1, QUERY_HEADS)), { queries: [1], into });
        }),
      );
      await step.commit();
      const other = reference.step([{ sequence: theirs, tokens }]);
      other.append(0, f16Tensor(key, shape(tokens)), f16Tensor(value, shape(tokens)));
      const { output: host } = await other
        .attend(0, f32Tensor(query, shape(1, QUERY_HEADS)), { queries: [1] })
        .read();
      expected.push(host.data as Float32Array);
      await other.commit();
    }
    device.queue.submit([encoder.finish()]);
    for (const recording of recordings) recording.submitted();
    for (const [i, output] of outputs.entries()) {
      const got = await readFloats(output, QUERY_HEADS * DIM);
      const largest = Math.max(...(expected[i] as Float32Array).map(Math.abs));
      for (const [j, value] of got.entries())
        expect(Math.abs(value - ((expected[i] as Float32Array)[j] as number))).toBeLessThan(
          1e-5 * largest,
        );
    }
    expect(await blocksOf(cache, mine)).toBe(await blocksOf(reference, theirs));
    cache.dispose();
  });

  it('needs no new buffer, bind group or pipeline after a warm-up', async () => {
    const counted = await swiftShaderDevice();
    const warm = webgpuBackend({ device: counted });
    const cache = await createCache(plan, warm, { capacity, nonFinite: 'mask' });
    await warm.warmUp(plan, { tokens: 40, queries: 1 });
    await expect(warm.warmUp(plan, { tokens: 0, queries: 1 })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      value: 0,
    });
    const sequence = cache.createSequence();
    const k = counted.createBuffer({ size: 40 * HEADS * DIM * 2, usage: 0x8c });
    const q = counted.createBuffer({ size: QUERY_HEADS * DIM * 4, usage: 0x8c });
    const o = counted.createBuffer({ size: QUERY_HEADS * DIM * 4, usage: 0x8c });
    const into = { output: gpuTensor(o, { type: 'f32', shape: shape(1, QUERY_HEADS) }) };
    const run = async (tokens: number) => {
      const step = cache.step([{ sequence, tokens }]);
      const tensor = gpuTensor(k, { type: 'f16', shape: shape(tokens) });
      step.append(0, tensor, gpuTensor(k, { type: 'f16', shape: shape(tokens) }));
      step.attend(0, gpuTensor(q, { type: 'f32', shape: shape(1, QUERY_HEADS) }), {
        queries: [1],
        into,
      });
      await step.commit();
    };
    // One step of every kind: a prompt, a token, a token that packs.
    await run(40);
    for (let i = 0; i < 30; i++) await run(1);
    const calls: string[] = [];
    for (const name of [
      'createBuffer',
      'createBindGroup',
      'createComputePipelineAsync',
      'createShaderModule',
    ] as const) {
      const original = counted[name].bind(counted) as (...given: unknown[]) => unknown;
      Object.assign(counted, {
        [name]: (...given: unknown[]) => {
          calls.push(name);
          return original(...given);
        },
      });
    }
    for (let i = 0; i < 40; i++) await run(1);
    expect(calls).toEqual([]);
    cache.dispose();
    warm.dispose();
  });

  it('keeps layers and steps apart that come through the same tensors', async () => {
    const geometry = {
      queryHeads: QUERY_HEADS,
      kvHeads: HEADS,
      keyHeadDim: DIM,
      valueHeadDim: DIM,
    };
    const two = createPlan(plan.scheme, { layers: 2, ...geometry });
    const [cache, other] = await Promise.all([
      createCache(two, backend, { capacity, nonFinite: 'mask' }),
      createCache(two, referenceBackend(), { capacity }),
    ]);
    const [mine, theirs] = [cache.createSequence(), other.createSequence()];
    const bytes = 40 * HEADS * DIM * 2;
    const [k, v] = [0, 1].map(() => device.createBuffer({ size: bytes, usage: 0x88 })) as [
      GPUBuffer,
      GPUBuffer,
    ];
    // As an engine does that has one buffer for the projections of all layers, and names it once.
    const [key, value] = [k, v].map((buffer) =>
      gpuTensor(buffer, { type: 'f16', shape: shape(40) }),
    ) as [DeviceTensor, DeviceTensor];
    const encoder = device.createCommandEncoder();
    const recordings = [];
    for (let i = 0; i < 2; i++) {
      const [step, expected] = [
        cache.step([{ sequence: mine, tokens: 40 }]),
        other.step([{ sequence: theirs, tokens: 40 }]),
      ];
      for (let layer = 0; layer < 2; layer++) {
        const data = [k, v].map((buffer, part) => {
          const halves = randomHalves(40 * HEADS * DIM, 100 + 10 * i + 2 * layer + part);
          encoder.copyBufferToBuffer(copySource(halves), 0, buffer, 0, bytes);
          return f16Tensor(halves, shape(40));
        }) as [HostTensor, HostTensor];
        recordings.push(backend.record(encoder, () => step.append(layer, key, value)));
        expected.append(layer, ...data);
      }
      await Promise.all([step.commit(), expected.commit()]);
    }
    device.queue.submit([encoder.finish()]);
    for (const recording of recordings) recording.submitted();
    const blocks = await blocksOf(cache, mine, 0);
    expect(blocks).toBe(await blocksOf(other, theirs, 0));
    expect(await blocksOf(cache, mine, 1)).toBe(await blocksOf(other, theirs, 1));
    expect(await blocksOf(cache, mine, 1)).not.toBe(blocks);
    cache.dispose();
  });

  it('is waited for: what would run before it is refused', async () => {
    const cache = await open('mask');
    const free = await open('mask');
    const [sequence, other] = [cache.createSequence(), free.createSequence()];
    const rows = f16Tensor(randomHalves(40 * HEADS * DIM, 20), shape(40));
    const query = f32Tensor(randomFloats(QUERY_HEADS * DIM, 21), shape(1, QUERY_HEADS));
    const encoder = device.createCommandEncoder();
    const step = cache.step([{ sequence, tokens: 40 }]);
    let result: AttentionResult | undefined;
    const recording = backend.record(encoder, () => {
      step.append(0, rows, rows);
      result = step.attend(0, query, { queries: [1] });
    });
    await step.commit();
    await expect(result?.read()).rejects.toMatchObject({ code: 'STEP_STATE' });
    await expect(cache.exportBlocks(sequence, 0, 'key')).rejects.toMatchObject({
      code: 'STEP_STATE',
    });
    expect(() => cache.attend(0, query, [sequence])).toThrow(/STEP_STATE/);
    await expect(
      cache.append([{ sequence, tokens: 40 }], [{ key: rows, value: rows }]),
    ).rejects.toMatchObject({ code: 'STEP_STATE' });
    // Another cache has nothing to wait for.
    await free.append([{ sequence: other, tokens: 40 }], [{ key: rows, value: rows }]);
    device.queue.submit([encoder.finish()]);
    recording.submitted();
    expect(await blocksOf(cache, sequence)).toBe(await blocksOf(free, other));
    const { output } = await cache.attend(0, query, [sequence]).read();
    expect(output.data.some((number) => number !== 0)).toBe(true);
    expect((await result?.read())?.output.data).toEqual(output.data);
    for (const each of [cache, free]) each.dispose();
  });

  it('cannot be submitted after its recording threw, and the cache goes on', async () => {
    const cache = await open();
    const sequence = cache.createSequence();
    const rows = f16Tensor(randomHalves(2 * HEADS * DIM, 9), shape(2));
    const encoder = device.createCommandEncoder();
    const step = cache.step([{ sequence, tokens: 2 }]);
    expect(() =>
      backend.record(encoder, () => {
        step.append(0, rows, rows);
        throw new Error('of the caller');
      }),
    ).toThrow('of the caller');
    step.abandon();
    device.pushErrorScope('validation');
    device.queue.submit([encoder.finish()]);
    expect((await device.popErrorScope())?.message).toMatch(/destroyed/i);
    const halves = gpuTensor(bufferOf(rows.data as Uint16Array), { type: 'f16', shape: shape(2) });
    const again = cache.step([{ sequence, tokens: 2 }]);
    again.append(0, halves, halves);
    await again.commit();
    expect(sequence.length).toBe(2);
    cache.dispose();
  });

  it('is asked for its submission before keys in buffers can be checked', async () => {
    const cache = await open();
    const sequence = cache.createSequence();
    const tensor = gpuTensor(bufferOf(randomHalves(2 * HEADS * DIM, 6)), {
      type: 'f16',
      shape: shape(2),
    });
    const encoder = device.createCommandEncoder();
    const step = cache.step([{ sequence, tokens: 2 }]);
    const recording = backend.record(encoder, () => step.append(0, tensor, tensor));
    await expect(step.commit()).rejects.toMatchObject({ code: 'STEP_STATE' });
    device.queue.submit([encoder.finish()]);
    recording.submitted();
    expect(sequence.length).toBe(0);
    cache.dispose();
  });
});

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

  it('a buffer destroyed before its work is submitted', async () => {
    const cache = await open('mask');
    const sequence = cache.createSequence();
    const buffer = bufferOf(randomHalves(2 * HEADS * DIM, 7));
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
    const buffer = bufferOf(rows.data as Uint16Array);
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

function valuesOf(halves: Uint16Array, type: TensorType): Float32Array {
  const values = Float32Array.from(halves, halfValue);
  if (type !== 'bf16') return values;
  const words = new Uint32Array(values.buffer);
  for (let i = 0; i < words.length; i++) words[i] = (words[i] as number) & 0xffff0000;
  return values;
}

function encoded(values: Float32Array, type: TensorType): Uint16Array | Float32Array {
  if (type === 'f32') return values;
  if (type === 'f16') return Uint16Array.from(values, f32ToF16);
  return Uint16Array.from(new Uint32Array(values.buffer), (word) => word >>> 16);
}

function halfValue(bits: number): number {
  const magnitude = bits & 0x7fff;
  const exponent = magnitude >> 10;
  const value =
    exponent === 31
      ? Number.POSITIVE_INFINITY
      : exponent === 0
        ? magnitude * 2 ** -24
        : (1 + (magnitude & 0x3ff) / 1024) * 2 ** (exponent - 15);
  return bits & 0x8000 ? -value : value;
}
