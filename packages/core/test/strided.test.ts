// Tensors in device memory as callers describe them: where elements lie, and descriptions that are refused.
import { describe, expect, it } from 'vitest';
import {
  checkDescribed,
  elementBytes,
  type StridedTensorOptions,
  stridedTensor,
} from '../src/index.js';

const next = 'Describe the buffer as it is.';
const describeIn = (options: StridedTensorOptions, bytes = 2 ** 20) =>
  stridedTensor(options, { name: 'buffer', bytes, next });

/** Element of an index of the ragged tensor `[tokens, heads, headDim]`, as kernels find it. */
function elementAt(tensor: ReturnType<typeof describeIn>, token: number, head = 0, channel = 0) {
  const { tokensPerBatch, batchStride, tokenStride, headStride } = tensor;
  const batch = Math.floor(token / tokensPerBatch);
  return batch * batchStride + (token % tokensPerBatch) * tokenStride + head * headStride + channel;
}

describe('a strided tensor', () => {
  it('is dense without strides', () => {
    expect(describeIn({ type: 'f16', shape: [5, 2, 8], offset: 3 })).toEqual({
      type: 'f16',
      shape: [5, 2, 8],
      ...{ tokensPerBatch: 5, batchStride: 0, tokenStride: 16, headStride: 8 },
      dense: true,
    });
  });

  it('has one row of numbers a token where it has two dimensions', () => {
    const tensor = describeIn({ type: 'f32', shape: [5, 4], strides: [7] });
    expect(tensor).toMatchObject({ shape: [5, 4], dense: false });
    expect(elementAt(tensor, 3, 2)).toBe(3 * 7 + 2);
  });

  it('is ragged where it has a batch', () => {
    const tensor = describeIn({ type: 'bf16', shape: [2, 3, 4, 8], strides: [1000, 8, 100] });
    expect(tensor).toMatchObject({ shape: [6, 4, 8], tokensPerBatch: 3, dense: false });
    expect(elementAt(tensor, 4, 3, 5)).toBe(1000 + 8 + 300 + 5);
    const dense = describeIn({ type: 'bf16', shape: [2, 3, 4, 8] });
    expect(dense.dense).toBe(true);
    expect(elementAt(dense, 4, 3, 5)).toBe(((1 * 3 + 1) * 4 + 3) * 8 + 5);
  });

  it.each([
    ['strides of dense memory', [5, 2, 8], [16, 8], true],
    ['a batch stride of a batch of one', [1, 5, 2, 8], [7, 16, 8], true],
    ['a head stride of one head', [5, 1, 8], [8, 999], true],
    ['heads first', [5, 2, 8], [8, 40], false],
    ['one row for all tokens', [5, 2, 8], [0, 8], false],
    ['rows with a gap', [5, 2, 8], [17, 8], false],
  ])('dense or not: %s', (_, shape, strides, dense) => {
    expect(describeIn({ type: 'f16', shape, strides }).dense).toBe(dense);
  });

  it('may end where its memory ends, and not behind that', () => {
    for (const type of ['f32', 'f16', 'bf16'] as const) {
      const size = elementBytes(type);
      const options = { type, shape: [2, 2, 8], offset: 4, strides: [40, 10] };
      const elements = 4 + 40 + 10 + 8;
      expect(describeIn(options, elements * size).type).toBe(type);
      expect(() => describeIn(options, elements * size - 1)).toThrow(
        expect.objectContaining({
          code: 'TENSOR_INVALID',
          summary: 'the tensor ends behind its buffer',
          value: { bytes: elements * size },
          valid: `at most ${elements * size - 1} bytes`,
          next,
        }),
      );
    }
  });

  it('without elements needs no memory behind its offset', () => {
    expect(describeIn({ type: 'f32', shape: [0, 2, 8], offset: 3 }, 12).shape).toEqual([0, 2, 8]);
    expect(() => describeIn({ type: 'f32', shape: [0, 2, 8], offset: 4 }, 12)).toThrow(
      'ends behind',
    );
  });

  it.each([
    ['unknown tensor type', { type: 'f64' as 'f32', shape: [1, 1, 1] }, 'f64'],
    ['unknown tensor type', { type: 'toString' as 'f32', shape: [1, 1, 1] }, 'toString'],
    ['not a shape', { type: 'f32', shape: [4] }, [4]],
    ['not a shape', { type: 'f32', shape: [1, 1, 1, 1, 1] }, [1, 1, 1, 1, 1]],
    ['not a shape', { type: 'f32', shape: [1, -1, 1] }, [1, -1, 1]],
    ['not a shape', { type: 'f32', shape: [1, 1.5, 1] }, [1, 1.5, 1]],
    ['not strides', { type: 'f32', shape: [1, 1, 1], strides: [1] }, [1]],
    ['not strides', { type: 'f32', shape: [1, 1, 1], strides: [1, 1, 1] }, [1, 1, 1]],
    ['not strides', { type: 'f32', shape: [1, 1, 1], strides: [1, -1] }, [1, -1]],
    ['not an offset', { type: 'f32', shape: [1, 1, 1], offset: -1 }, -1],
    ['not an offset', { type: 'f32', shape: [1, 1, 1], offset: 0.5 }, 0.5],
  ] as const)('%s: %j', (summary, options, value) => {
    expect(() => describeIn(options)).toThrow(
      expect.objectContaining({ code: 'TENSOR_INVALID', summary, value, next }),
    );
  });
});

it('a tensor is what its memory was described as', () => {
  const described = describeIn({ type: 'f16', shape: [2, 3, 4, 8] });
  expect(() => checkDescribed({ type: 'f16', shape: [6, 4, 8] }, described, next)).not.toThrow();
  for (const renamed of [
    { type: 'bf16', shape: [6, 4, 8] },
    { type: 'f16', shape: [7, 4, 8] },
    { type: 'f16', shape: [6, 4] },
    { type: 'f16', shape: [6, 4, 8, 1] },
  ] as const)
    expect(() => checkDescribed(renamed, described, next)).toThrow(
      expect.objectContaining({
        code: 'TENSOR_INVALID',
        summary: 'not what its memory was described as',
        value: renamed,
        valid: ['f16', [6, 4, 8]],
        next,
      }),
    );
});
