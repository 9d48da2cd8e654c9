// MXFP4, and FP8 E4M3 without a scale of the tensor, as level tables: sizes, and bytes computed by hand.

import { describe, expect, it } from 'vitest';
import {
  bitsPerElement,
  createCache,
  createPlan,
  encodeF16,
  f16Tensor,
  type QuantizedTensorScheme,
  referenceBackend,
  roundToF16,
  type Scheme,
} from '../../src/index.js';
import { E2M1_LEVELS, e4m3Levels } from '../../src/testing/index.js';

const MXFP4: QuantizedTensorScheme = {
  bits: 4,
  groups: { along: 'channels', size: 32 },
  quantizer: {
    mode: 'symmetric',
    codes: { levels: E2M1_LEVELS, scaledBy: 'absoluteMaximum' },
  },
  window: { recent: 0, flush: 1 },
  parameters: { scale: 'e8m0' },
};
const FP8: QuantizedTensorScheme = {
  bits: 8,
  groups: { along: 'vector', scope: 'head' },
  quantizer: { mode: 'symmetric', codes: { levels: e4m3Levels(), scaledBy: 'none' } },
  parameters: {},
  window: { recent: 0, flush: 1 },
};

function planOf(value: QuantizedTensorScheme, headDim: number) {
  const scheme: Scheme = {
    specVersion: 1,
    id: 'float-format',
    title: 'Float format',
    sinks: 0,
    packing: 'before-attention',
    key: { bits: 16 },
    value,
    calibration: { kind: 'none' },
  };
  const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: 8, valueHeadDim: headDim };
  return createPlan(scheme, geometry, { blockTokens: 64 });
}

/** The packed block of these tokens, and what it decodes to. */
async function packed(value: QuantizedTensorScheme, tokens: readonly (readonly number[])[]) {
  const headDim = tokens[0]?.length ?? 0;
  const plan = planOf(value, headDim);
  const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: 8 } });
  const sequence = cache.createSequence();
  const count = tokens.length;
  const rows = encodeF16(Float32Array.from(tokens.flat()));
  const key = f16Tensor(new Uint16Array(count * 8), [count, 1, 8]);
  const values = f16Tensor(rows, [count, 1, headDim]);
  await cache.append([{ sequence, tokens: count }], [{ key, value: values }]);
  const [block] = await cache.exportBlocks(sequence, 0, 'value');
  const decoded = (await cache.materialize(sequence, 0)).value.data as Float32Array;
  if (block === undefined) throw new Error('nothing is packed');
  return { layout: plan.layers[0]?.value.layout, bytes: block.bytes, decoded };
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('MXFP4', () => {
  // Every level, values past the largest one, and values on and beside the middles of cells; the largest magnitude is 7.
  const values = [
    ...[0, 0.5, 1, 1.5, 2, 3, 4, 7, -0.5, -1, -1.5, -2, -3, -4, -6],
    ...[0.25, 0.26, -0.25, 2.5, 2.51, 5, 5.01, 0.74, 0.76, 0, 0, 0, 0, 0, 0, 0, 0],
  ];
  const codes = '87a9cbed56341270' + '68cbed9877777777';

  it('takes 4.25 bits', () => {
    expect(bitsPerElement(planOf(MXFP4, 64)).value.total).toBe(4.25);
  });

  it('has a power of two per 32 channels and codes of E2M1', async () => {
    const small = values.map((value) => roundToF16(value) / 8);
    const { layout, bytes, decoded } = await packed(MXFP4, [values, small]);
    expect(hex(bytes.subarray(0, 32))).toBe(codes + codes);
    const scales = layout?.parameters[0]?.offset as number;
    // Exponent 2 of 7 less exponent 2 of 6, and three less; bias 127.
    expect(hex(bytes.subarray(scales, scales + 2))).toBe('7f7c');
    expect([...decoded.subarray(0, 16)]).toEqual([
      ...[0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6, 0],
    ]);
    expect(decoded[32 + 7]).toBe(6 / 8);
  });
});

describe('FP8 E4M3 without a scale', () => {
  it('takes exactly 8 bits', () => {
    expect(bitsPerElement(planOf(FP8, 64)).value.total).toBe(8);
  });

  it('numbers the values of E4M3 from -448 up', async () => {
    // 0 is number 126, the bits of a positive number count up from it, those of a negative one down.
    const cases: [value: number, code: number, decoded: number][] = [
      [0, 126, 0],
      [1, 126 + 0x38, 1],
      [-1, 126 - 0x38, -1],
      [448, 252, 448],
      [-448, 0, -448],
      [500, 252, 448],
      [-60000, 0, -448],
      [2 ** -9, 127, 2 ** -9],
      // Half-way between 1 and 1.125 the lower one, also below zero.
      [1.0625, 126 + 0x38, 1],
      [-1.0625, 126 - 0x39, -1.125],
      [1.07, 126 + 0x39, 1.125],
      // Exponent field 14, mantissa 7.
      [240, 126 + 0x77, 240],
      [3.14, 126 + 0x45, 3.25],
      [0.001, 127, 2 ** -9],
      [0.0009, 126, 0],
      [-(2 ** -9), 125, -(2 ** -9)],
    ];
    const { bytes, decoded } = await packed(FP8, [cases.map(([value]) => value)]);
    expect([...bytes.subarray(0, 16)]).toEqual(cases.map(([, code]) => code));
    expect([...decoded]).toEqual(cases.map(([, , value]) => value));
  });
});
