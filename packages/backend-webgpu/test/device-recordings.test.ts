// Work recorded into encoders of the caller.
import {
  type AttentionResult,
  createCache,
  createPlan,
  type DeviceTensor,
  f16Tensor,
  f32Tensor,
  type HostTensor,
  referenceBackend,
} from '@lowbit-kv/core';
import { afterAll, expect, it } from 'vitest';
import { gpuTensor, webgpuBackend } from '../src/index.js';
import {
  blocksOf,
  bufferOf,
  callerDevice,
  capacity,
  copySource,
  DIM,
  HEADS,
  plan,
  QUERY_HEADS,
  randomFloats,
  randomHalves,
  readFloats,
  shape,
} from './support/caller-tensors.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const { backend, close, device, open, reference } = await callerDevice();
afterAll(close);

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
    const got = await readFloats(device, output, QUERY_HEADS * DIM);
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
  counted.destroy();
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
        encoder.copyBufferToBuffer(copySource(device, halves), 0, buffer, 0, bytes);
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
  const halves = gpuTensor(bufferOf(device, rows.data as Uint16Array), {
    type: 'f16',
    shape: shape(2),
  });
  const again = cache.step([{ sequence, tokens: 2 }]);
  again.append(0, halves, halves);
  await again.commit();
  expect(sequence.length).toBe(2);
  cache.dispose();
});

it('is asked for its submission before keys in buffers can be checked', async () => {
  const cache = await open();
  const sequence = cache.createSequence();
  const tensor = gpuTensor(bufferOf(device, randomHalves(2 * HEADS * DIM, 6)), {
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
