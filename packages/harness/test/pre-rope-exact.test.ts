/**
 * A lossless scheme that stores keys before the rotary embedding gives the attention of f16 keys after it. Every pair of
 * channels turns by quarter turns here and keys are small integers, so that the rotated keys are known without a cosine.
 */
import { encodeF16, referenceBackend, type TensorScheme } from '@lowbit-kv/core';
import { lcgNormal } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { compareSchemes, type MeasuredRow, openCapture } from '../src/index.js';
import { refusal } from './support/failures.js';
import { safetensorsBytes, type TestTensor } from './support/safetensors-bytes.js';
import { scheme } from './support/schemes.js';

const TOKENS = 128;
const HEADS = 2;
const DIM = 32;
const PAIRS = DIM / 2;
const LOWEST = -8;

/** Quarter turns of a pair from one position to the next. */
const turnsOf = (pair: number) => (pair % 3) + 1;
const FREQUENCIES = Array.from({ length: PAIRS }, (_, pair) => (turnsOf(pair) * Math.PI) / 2);
const metadata = (frequencies = FREQUENCIES) => ({
  rope_style: 'half-split',
  rope_frequencies: JSON.stringify(frequencies),
});

type Metadata = Readonly<Record<string, string>>;

async function quarterTurns(rope: Metadata, keysBefore: 'captured' | 'absent') {
  const drawn = (seed: number, heads: number, rows: number) => ({
    dtype: 'F16',
    shape: [1, heads, rows, DIM],
    data: lcgNormal({ seed, shape: [1, heads, rows, DIM], dtype: 'f16' }),
  });
  const numbers = Float32Array.from(
    lcgNormal({ seed: 3, shape: [HEADS * TOKENS * DIM], dtype: 'f32' }),
    (x) => Math.max(LOWEST, Math.min(-LOWEST - 1, Math.round(2.5 * x))),
  );
  const turned = numbers.slice();
  for (let row = 0; row < HEADS * TOKENS; row++) {
    for (let pair = 0; pair < PAIRS; pair++) {
      const at = row * DIM + pair;
      let [a, b] = [numbers[at] as number, numbers[at + PAIRS] as number];
      for (let turn = ((row % TOKENS) * turnsOf(pair)) % 4; turn > 0; turn--) [a, b] = [-b, a];
      turned[at] = a;
      turned[at + PAIRS] = b;
    }
  }
  const keys = (values: Float32Array): TestTensor => ({
    dtype: 'F16',
    shape: [1, HEADS, TOKENS, DIM],
    data: encodeF16(values),
  });
  const tensors: Record<string, TestTensor> = {
    'layers.0.key': keys(turned),
    'layers.0.value': drawn(4, HEADS, TOKENS),
    'layers.0.query': drawn(5, 2 * HEADS, 40),
  };
  if (keysBefore === 'captured') tensors['layers.0.key_pre_rope'] = keys(numbers);
  const file = { format: 'lowbit-kv-capture', version: '1', scale: '0.1' };
  return openCapture(safetensorsBytes(tensors, { ...file, ...rope }));
}

/** Holds the integers as they are, some of them packed and some still in a window. */
const integers: TensorScheme = {
  stage: 'pre-rope',
  bits: 4,
  groups: { along: 'channels', size: 32 },
  quantizer: {
    mode: 'symmetric',
    codes: { levels: Array.from({ length: 16 }, (_, i) => LOWEST + i), scaledBy: 'none' },
  },
  parameters: {},
  window: { recent: 16, flush: 8 },
};
const lossless = scheme('lossless', integers, { bits: 16 });

async function compare(rope: Metadata, keysBefore: 'captured' | 'absent') {
  const capture = await quarterTurns(rope, keysBefore);
  const { schemes } = await compareSchemes({
    capture,
    schemes: [lossless],
    backend: referenceBackend(),
    positions: 40,
  });
  return schemes as [MeasuredRow, MeasuredRow];
}

it.each(['captured', 'absent'] as const)(
  'is what f16 keys after the embedding give, with keys before it %s',
  async (keysBefore) => {
    const [f16, row] = await compare(metadata(), keysBefore);
    expect(row).toMatchObject({ id: 'lossless', status: 'measured', key: { nmse: 0 } });
    const [held] = row.held;
    expect(held).toMatchObject({ tensor: 'key', sinks: 0 });
    expect(held?.packed).toBeGreaterThanOrEqual(100);
    expect(held?.tail).toBeGreaterThanOrEqual(16);
    for (const { output } of [f16, row]) {
      expect(output.worstHead.nmse).toBeLessThan(1e-13);
      expect(output.logSumExp.max).toBeLessThan(1e-5);
    }
    expect(row.checks.map(({ result }) => result)).toEqual(['passed', 'passed']);
  },
);

it('is not when one pair of channels turns at another frequency', async () => {
  const wrong = metadata(FREQUENCIES.with(5, 1.5));
  const error = await refusal(compare(wrong, 'captured'), 'CAPTURE_INVALID');
  expect(error.message).toContain('layers.0.key_pre_rope');
  // Nothing says so where keys were rotated back, but then they are no integers any more.
  const [, row] = await compare(wrong, 'absent');
  expect(row.key.nmse).toBeGreaterThan(1e-4);
  expect(row.output.worstHead.nmse).toBeGreaterThan(1e-6);
});
