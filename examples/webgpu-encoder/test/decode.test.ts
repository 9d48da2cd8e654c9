// The example gives what the reference backend gives for the same tokens.
import { createCache, f32Tensor, referenceBackend } from '@lowbit-kv/core';
import { expect, it } from 'vitest';
import { swiftShaderDevice } from '../../../packages/backend-webgpu/test/support/swiftshader.js';
import { DECODED, decode, PROMPT, plan, SHAPE } from '../src/index.js';

/** The engine's projection, on the host. */
function projected(tokens: readonly number[], heads: number, seed: number) {
  const row = heads * SHAPE.headDim;
  const data = Float32Array.from({ length: tokens.length * row }, (_, i) =>
    Math.sin(
      Math.fround(
        ((tokens[Math.floor(i / row)] as number) * 37 + (i % row) * 11 + seed) * Math.fround(0.1),
      ),
    ),
  );
  return f32Tensor(data, [tokens.length, heads, SHAPE.headDim]);
}

it('decodes in one submission', { timeout: 60_000 }, async () => {
  const result = await decode(await swiftShaderDevice());
  const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: 256 } });
  const sequence = cache.createSequence();
  const tokens = [...PROMPT, ...DECODED];
  const { queryHeads, kvHeads } = SHAPE;
  await cache.append(
    [{ sequence, tokens: tokens.length }],
    [{ key: projected(tokens, kvHeads, 2), value: projected(tokens, kvHeads, 3) }],
  );
  const { output } = await cache
    .attend(0, projected(tokens.slice(-1), queryHeads, 1), [sequence])
    .read();
  const expected = output.data as Float32Array;
  const energy = (data: Float32Array) => data.reduce((sum, value) => sum + value * value, 0);
  expect(energy(expected)).toBeGreaterThan(1);
  // The sine of a GPU is good to about 2^-11, and codes next to a tie may differ by one.
  const difference = expected.map((value, i) => value - (result[i] as number));
  expect(energy(difference)).toBeLessThan(1e-4 * energy(expected));
});
