// The cache of the InnerQ repository: sizes after every step, and the final state of whole layers, bit for bit.
import { expect, test } from 'vitest';
import { readCounts } from '../../../core/test/support/golden-file.js';
import { compareLayer, compareNormalisedKeys, layers } from './layers.js';
import { columns, sizeCases, sizesByStep } from './sizes.js';

test('the rows are of the expected columns', () => {
  expect(columns).toEqual([
    'step',
    'k_sink',
    'k_quantized',
    'k_recent',
    'v_sink',
    'v_quantized',
    'v_recent',
  ]);
  expect(sizeCases).toHaveLength(9);
});

test.each(sizeCases)('sizes: $preset, prompt $L', (one) => {
  expect(sizesByStep(one)).toEqual(one.rows);
});

test.each(layers)('state: $key', (one) => {
  const { layer, codes, parameters, decoded } = compareLayer(one);
  const [, sinks, keyQuantized, keyRecent, valueSinks, valueQuantized, valueRecent] = one.final;
  expect(layer.counts()).toEqual({
    key: { sinks, quantized: keyQuantized, recent: keyRecent },
    value: { sinks: valueSinks, quantized: valueQuantized, recent: valueRecent },
  });
  const quantized = (keyQuantized as number) + (valueQuantized as number);
  expect(codes.of).toBeGreaterThanOrEqual(2 * 64 * quantized);
  expect(codes.equal).toBe(codes.of);
  expect(parameters.of).toBeGreaterThanOrEqual(2 * quantized + 64);
  expect(parameters.equal).toBe(parameters.of);
  expect(decoded).toEqual({ equal: 2 * 64 * (one.L + one.steps), of: 2 * 64 * (one.L + one.steps) });
});

interface IndexEntry {
  readonly key: string;
  readonly k_codes: number;
  readonly k_codes_differ_normal_mode: number;
  readonly k_groups: number;
  readonly k_scales_differ_normal_mode: number;
}

const counts = readCounts<IndexEntry>('innerq_layers');

test.each(layers)('normalised keys by the law: $key', (one) => {
  const { codes, scales, faults } = compareNormalisedKeys(one);
  expect(faults).toEqual([]);
  const counted = counts(one.key);
  expect([codes.of, codes.of - codes.equal]).toEqual([
    counted.k_codes,
    counted.k_codes_differ_normal_mode,
  ]);
  expect([scales.of, scales.of - scales.equal]).toEqual([
    counted.k_groups,
    counted.k_scales_differ_normal_mode,
  ]);
});
