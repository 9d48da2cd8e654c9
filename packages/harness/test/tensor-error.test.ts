// Errors of stored tensors by layer and head, worked out by hand and on the shipped capture.
import { expect, it } from 'vitest';
import { readCaptureData } from '../src/capture-data.js';
import { defaultCapturePath } from '../src/default-capture.js';
import { nmseOf } from '../src/metrics.js';
import { openCapture } from '../src/open-capture.js';
import { headErrors, tensorError } from '../src/tensor-error.js';

// [2 tokens, 2 heads, 2 channels]
const EXACT = Float32Array.of(1, 1, 2, 2, 3, 3, 4, 4);

function changed(...places: readonly (readonly [index: number, value: number])[]) {
  const actual = Float32Array.from(EXACT);
  for (const [index, value] of places) actual[index] = value;
  return headErrors(actual, EXACT, 2, 2);
}

it('counts a difference for its head alone, over all tokens', () => {
  expect(changed([0, 2], [5, 1])).toEqual([
    { error: 1 + 4, energy: 1 + 1 + 9 + 9 },
    { error: 0, energy: 4 + 4 + 16 + 16 },
  ]);
});

it('names the worst layer and the worst head, which may lie apart', () => {
  const one = changed([0, 2]);
  const both = changed([4, 4], [2, 4], [6, 5]);
  expect(tensorError([one, both], [3, 7])).toEqual({
    nmse: (1 / 60 + 6 / 60) / 2,
    worstLayer: { layer: 7, nmse: 6 / 60 },
    worstHead: { layer: 7, head: 1, nmse: 5 / 40 },
    layers: [
      { layer: 3, nmse: 1 / 60, heads: [1 / 20, 0] },
      { layer: 7, nmse: 6 / 60, heads: [1 / 20, 5 / 40] },
    ],
  });
});

it('has no figure where a tensor is not finite, and takes it for the worst', () => {
  const error = tensorError([changed([2, Number.NaN]), changed([0, 99])], [0, 1]);
  expect(error).toMatchObject({
    nmse: null,
    worstLayer: { layer: 0, nmse: null },
    worstHead: { layer: 0, head: 1, nmse: null },
  });
  expect(error.layers[0]).toEqual({ layer: 0, nmse: null, heads: [0, null] });
});

it('heads of the capture are where a capture has them', async () => {
  const capture = await openCapture(defaultCapturePath());
  const { layers, sizes } = await readCaptureData(capture, 1);
  await capture.close();
  const exact = layers[0]?.exact.key as Float32Array;
  const { kvHeads, keyHeadDim } = sizes;
  // Zeros for one head only: all of its power is error.
  const zeroed = exact.map((x, i) => (Math.floor(i / keyHeadDim) % kvHeads === 2 ? 0 : x));
  expect(headErrors(zeroed, exact, kvHeads, keyHeadDim).map(nmseOf)).toEqual([0, 0, 1]);
});
