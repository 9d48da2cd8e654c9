// The cache of the InnerQ repository: sizes after every step, and the final state of whole layers, bit for bit.
import { expect, test } from 'vitest';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { readCacheRows } from '../../../core/test/support/golden-file.js';
import {
  type InnerqRepositorySetting,
  innerqRepository,
} from '../../src/compat/repository-settings.js';
import { compareLayer, layers } from './layers.js';

const { cases, columns } = readCacheRows('innerq');
const settingOf = (preset: string): InnerqRepositorySetting =>
  preset.startsWith('kivi_sink') ? 'kivi-sink' : preset.startsWith('kivi') ? 'kivi' : 'base';

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
  expect(cases).toHaveLength(9);
});

test.each(cases.map((one) => [one.preset, one.L, one.tokens_per_step ?? 1, one] as const))(
  'sizes: %s, prompt %i, %i tokens a step',
  (preset, prompt, perStep, { rows, steps }) => {
    const shape = { layer: 0, kvHeads: 1, keyHeadDim: 32, valueHeadDim: 32 };
    const layer = innerqRepository(settingOf(preset as string)).createLayer(shape);
    const tokens = (count: number) =>
      lcgNormal({ seed: 1, shape: [count, 1, 32], dtype: 'f16' });
    const seen = [];
    for (let step = 0; step <= (steps as number); step++) {
      const added = tokens(step === 0 ? (prompt as number) : (perStep as number));
      layer.append(added, added);
      const { key, value } = layer.counts();
      const row = [key, value].flatMap(({ sinks, quantized, recent }) => [
        sinks,
        quantized,
        recent,
      ]);
      seen.push([step, ...row]);
    }
    expect(seen).toEqual(rows);
  },
);

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
