// Numbers that shaders round and decode by integers, against arithmetic in double precision.
import { f16ToF32, f32ToF16 } from '@lowbit-kv/core';
import { afterAll, expect, test } from 'vitest';
import { composeShader } from '../src/shaders/compose.js';
import { runKernel } from './support/run-kernel.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const device = await swiftShaderDevice();
afterAll(() => device.destroy());

/** What a WGSL expression of `x`, bits of an f32, gives for each of the inputs, as bits. */
async function evaluate(expression: string, inputs: Uint32Array): Promise<Uint32Array> {
  const code = `
    struct Job { zero: u32 }
    @group(0) @binding(0) var<storage, read> numbers: array<u32>;
    @group(0) @binding(1) var<storage, read> job: Job;
    @group(0) @binding(2) var<storage, read_write> results: array<u32>;
    ${composeShader({}, ['numbers', 'parameters'])}
    @compute @workgroup_size(64)
    fn main(@builtin(global_invocation_id) id: vec3<u32>) {
      if (id.x < arrayLength(&numbers)) {
        let x = numbers[id.x];
        results[id.x] = ${expression} + job.zero;
      }
    }`;
  const results = await runKernel(device, {
    code,
    inputs: [inputs, Uint32Array.of(0)],
    bytes: inputs.byteLength,
    workgroups: [Math.ceil(inputs.length / 64)],
  });
  return new Uint32Array(results);
}

const bitsOf = (values: readonly number[]) => new Uint32Array(Float32Array.from(values).buffer);
const floatsOf = (bits: Uint32Array) => new Float32Array(bits.buffer);

/** f16 numbers, what lies between them, and numbers beyond them, of both signs. */
const VALUES = [
  ...[0, 1, 2, 0x03ff, 0x0400, 0x0401, 0x3c00, 0x3c01, 0x7bfe, 0x7bff].flatMap((bits) => {
    const [value, next] = [f16ToF32(bits), bits < 0x7bff ? f16ToF32(bits + 1) : 65536];
    const middle = (value + next) / 2;
    return [value, middle, middle * (1 - 2 ** -20), middle * (1 + 2 ** -20)];
  }),
  ...[1e-12, 65519.996, 65520, 1e6, 3e38],
].flatMap((value) => [value, -value]);

const saturated = (bits: number) => (bits & 0x8000) | Math.min(bits & 0x7fff, 0x7bff);

test.each<[name: string, expression: string, expected: (value: number) => number]>([
  ['f16', 'f16Bits(bitcast<f32>(x))', f32ToF16],
  [
    'offsets: saturated, zero without a sign',
    'offsetBits(bitcast<f32>(x))',
    (value) => ((f32ToF16(value) & 0x7fff) === 0 ? 0 : saturated(f32ToF16(value))),
  ],
  [
    'scales: normal numbers or zero',
    'scaleBits(bitcast<f32>(x))',
    (value) => {
      const bits = saturated(f32ToF16(value));
      const magnitude = bits & 0x7fff;
      return magnitude === 0 ? 0 : (bits & 0x8000) | Math.max(magnitude, 0x0400);
    },
  ],
])('bits of %s', async (_, expression, expected) => {
  const found = await evaluate(expression, bitsOf(VALUES));
  expect([...found]).toEqual([...floatsOf(bitsOf(VALUES))].map(expected));
});

test('values of f16, E4M3 and powers of two', async () => {
  const halves = Uint32Array.from({ length: 0x7c00 / 31 }, (_, i) => 31 * i);
  const found = floatsOf(await evaluate('bitcast<u32>(f16Value(x))', halves));
  expect([...found]).toEqual([...halves].map(f16ToF32));

  const bytes = Uint32Array.from({ length: 0x7f }, (_, i) => i);
  const e4m3 = (bits: number) =>
    bits < 8 ? bits * 2 ** -9 : (1 + (bits & 7) / 8) * 2 ** ((bits >> 3) - 7);
  expect([...floatsOf(await evaluate('bitcast<u32>(e4m3Value(x))', bytes))]).toEqual(
    [...bytes].map(e4m3),
  );
  const powers = Uint32Array.from({ length: 254 }, (_, i) => i + 1);
  expect([...floatsOf(await evaluate('bitcast<u32>(e8m0Value(x))', powers))]).toEqual(
    [...powers].map((byte) => 2 ** (byte - 127)),
  );
});

test.each(['Half', 'Float'])(
  'codes of f16 and f32 scales: the nearest, ties to even: %s',
  async (name) => {
    const scale = 0.375;
    const quotients = Array.from({ length: 81 }, (_, i) => (i - 40) / 8);
    const differences = bitsOf(quotients.map((quotient) => quotient * scale));
    const expression = `bitcast<u32>(nearestCodeOf${name}(bitcast<f32>(x), ${scale}, -3.0, 4.0))`;
    const found = new Int32Array((await evaluate(expression, differences)).buffer);
    const nearestEven = (quotient: number) => {
      const below = Math.floor(quotient);
      const rest = quotient - below;
      if (rest !== 0.5) return Math.round(quotient);
      return below % 2 === 0 ? below : below + 1;
    };
    expect([...found]).toEqual(
      quotients.map((quotient) => Math.min(Math.max(nearestEven(quotient), -3), 4) + 0),
    );
  },
);
