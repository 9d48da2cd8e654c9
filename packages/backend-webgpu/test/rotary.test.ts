// Cosines and sines of the shader against float64, at positions up to 128K and beyond, for frequencies of every size.
import { afterAll, expect, it } from 'vitest';
import { composeShader } from '../src/shaders/compose.js';
import { frequencyWords } from '../src/shaders/tensor-numbers.js';
import { runKernel } from './support/run-kernel.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const device = await swiftShaderDevice();
afterAll(() => device.destroy());

const KERNEL = `
@group(0) @binding(0) var<storage, read> positions: array<u32>;
@group(0) @binding(1) var<storage, read> frequencies: array<u32>;
@group(0) @binding(2) var<storage, read_write> results: array<vec2<f32>>;

@compute @workgroup_size(64)
fn turn(@builtin(global_invocation_id) id: vec3<u32>) {
  let pair = id.y;
  if (id.x < arrayLength(&positions)) {
    let turn = turnOf(positions[id.x], frequencies[2u * pair], frequencies[2u * pair + 1u]);
    results[id.x * FREQUENCIES + pair] = cosineAndSine(turn);
  }
}
`;

/** Cosine and sine, `[position, frequency, 2]`. */
async function turns(positions: readonly number[], frequencies: readonly number[]) {
  const code = composeShader({ FREQUENCIES: frequencies.length }, ['rotary', { text: KERNEL }]);
  const results = await runKernel(device, {
    code,
    inputs: [Uint32Array.from(positions), frequencyWords(frequencies)],
    bytes: positions.length * frequencies.length * 8,
    workgroups: [Math.ceil(positions.length / 64), frequencies.length],
  });
  return new Float32Array(results);
}

/** The largest distance from the float64 cosine or sine. */
async function largestError(positions: readonly number[], frequencies: readonly number[]) {
  const found = await turns(positions, frequencies);
  let largest = 0;
  let at = 0;
  for (const position of positions) {
    for (const frequency of frequencies) {
      for (const wanted of [Math.cos(position * frequency), Math.sin(position * frequency)])
        largest = Math.max(largest, Math.abs((found[at++] as number) - wanted));
    }
  }
  expect(at).toBe(found.length);
  return largest;
}

const usual = Array.from({ length: 64 }, (_, pair) => 10_000 ** (-pair / 64));

it('turns to every 13th position up to 128K within 1.3e-7', { timeout: 60_000 }, async () => {
  const positions = Array.from({ length: 10_083 }, (_, i) => 13 * i);
  expect(positions.at(-1)).toBeGreaterThan(131_000);
  expect(await largestError(positions, usual)).toBeLessThan(1.3e-7);
});

it('takes any frequency, and positions beyond 2^24', { timeout: 60_000 }, async () => {
  const positions = Array.from({ length: 500 }, (_, i) => i + 2 ** 25);
  expect(await largestError(positions, [1, 0.001, 1e-9])).toBeLessThan(1.5e-7);
  const near = Array.from({ length: 500 }, (_, i) => i);
  const strange = [0, Math.PI, -0.75, 1234.5678, 2 * Math.PI, Math.PI / 2, Math.PI / 4];
  expect(await largestError(near, strange)).toBeLessThan(1.3e-7);
});
