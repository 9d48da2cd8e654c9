// num-qk-f16-accumulate-overflow: q.k passes the largest f16 before it is scaled.
import { expect, it } from 'vitest';
import { encodeF16 } from '../../src/float16.js';
import { f32Tensor } from '../../src/index.js';
import type { TensorScheme } from '../../src/scheme.js';
import { groupScheme } from '../law/support.js';
import { loadCase } from '../testing/load-case.js';
import { cacheOf, filled } from './num-support.js';

const { input, expected } = loadCase<
  { shape: { T: number; D: number } },
  { scaledScores: number[] }
>('num-qk-f16-accumulate-overflow');
const { T, D } = input.shape;

const SCHEMES: [string, TensorScheme][] = [
  ['f16', { bits: 16 }],
  ['4-bit asymmetric', groupScheme(4, 'channels', 32, { mode: 'asymmetric', codes: 'uniform' })],
  [
    '3-bit sign and magnitude',
    groupScheme(3, 'channels', 32, { mode: 'symmetric', codes: 'signmag' }),
  ],
];

it.each(SCHEMES)('%s keys give the first value, finite', async (_name, scheme) => {
  const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: D, valueHeadDim: D };
  const cache = await cacheOf(scheme, scheme, geometry, { tokens: T });
  const rows = (values: number[]) =>
    encodeF16(Float32Array.from({ length: T * D }, (_, i) => values[Math.floor(i / D)]!));
  const sequence = await filled(cache, T, rows([32, 31.5, -32]), rows([1, 2, 3]));
  const query = f32Tensor(new Float32Array(D).fill(32), [1, 1, D]);
  const { output, logSumExp } = await cache
    .attend(0, query, [sequence], { logSumExp: true })
    .read();
  for (const value of output.data) expect(Math.abs(value - 1)).toBeLessThan(1e-3);
  expect(output.data.length).toBe(D);
  // The first score takes all the weight; the scale of a symmetric group may be off by half an f16 step.
  expect(Math.abs(logSumExp!.data[0]! / expected.scaledScores[0]! - 1)).toBeLessThan(2 ** -11);
});
