// Merging refuses what is not an output with its log-sum-exp.
import { expect, it } from 'vitest';
import { f16Tensor, f32Tensor, mergeAttention, type PartialAttention } from '../../src/index.js';

const output = f32Tensor(new Float32Array(12).fill(1), [1, 3, 4]);
const logSumExp = f32Tensor(new Float32Array(3), [1, 3]);

it.each([
  ['no log-sum-exp', { output, logSumExp: undefined }],
  ['a device tensor', { output: { type: 'f32', shape: [1, 3, 4], device: 'x' }, logSumExp }],
  ['f16', { output: f16Tensor(new Uint16Array(12), [1, 3, 4]), logSumExp }],
  ['another number of heads', { output, logSumExp: f32Tensor(new Float32Array(2), [1, 2]) }],
  ['a flat output', { output: f32Tensor(new Float32Array(12), [12]), logSumExp }],
  ['too few elements', { output: f32Tensor(new Float32Array(8), [1, 3, 4]), logSumExp }],
])('%s', (_, part) => {
  expect(() => mergeAttention([part as PartialAttention])).toThrow(
    expect.objectContaining({ code: 'TENSOR_INVALID' }),
  );
  expect(mergeAttention([{ output, logSumExp }]).output).toEqual(output);
});
