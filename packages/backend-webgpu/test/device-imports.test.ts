// Keys, values and queries in buffers of the caller, of every type and layout, equal host tensors.
import { f16Tensor, f32Tensor, f32ToF16, type TensorType } from '@lowbit-kv/core';
import { afterAll, expect, it } from 'vitest';
import { gpuTensor } from '../src/index.js';
import {
  blocksOf,
  bufferOf,
  callerDevice,
  DIM,
  HEADS,
  QUERY_HEADS,
  randomFloats,
  randomHalves,
  readFloats,
  shape,
} from './support/caller-tensors.js';

const { close, device, open, reference } = await callerDevice();
afterAll(close);

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
    return gpuTensor(bufferOf(device, encoded(values, type), offset * (type === 'f32' ? 4 : 2)), {
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
  const query = gpuTensor(bufferOf(device, queries, 4), {
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
  const got = await readFloats(device, output, QUERY_HEADS * DIM, 1024);
  const largest = Math.max(...(expected.output.data as Float32Array).map(Math.abs));
  expect(largest).toBeGreaterThan(0.01);
  for (const [i, value] of got.entries())
    expect(Math.abs(value - (expected.output.data[i] as number))).toBeLessThan(1e-5 * largest);
  cache.dispose();
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
