// The cache of KIVI's attention layer: end states of two layers bit for bit, and its sizes after every step.
import { describe, expect, test } from 'vitest';
import { kiviFp16 } from '../../src/compat/index.js';
import { kivi } from '../../src/index.js';
import { cacheRows, columns, compareEndState, endToEnd, sizeCases } from './cache.js';

test.each(endToEnd)('end state: $key', async (one) => {
  const { words, parameters, tails, windows } = await compareEndState(one);
  const [, keyPacked, keyTail, valuePacked, valueTail] = one.final as [number, ...number[]];
  expect(windows).toEqual({
    key: { packed: keyPacked, tail: keyTail, sinks: 0 },
    value: { packed: valuePacked, tail: valueTail, sinks: 0 },
  });
  const width = one.kv_heads * one.head_dim;
  const packed = ((keyPacked as number) + (valuePacked as number)) * width;
  const whole = (of: number) => ({ equal: of, of });
  expect(words).toEqual(whole((packed * one.bits) / 32));
  expect(parameters).toEqual(whole((2 * packed) / one.group));
  expect(tails).toEqual(whole(((keyTail as number) + (valueTail as number)) * width));
});

describe.each([
  ['codec', kiviFp16],
  ['normative', kivi],
] as const)('sizes by step, %s', (_name, make) => {
  test('the rows are of the expected columns', () => {
    expect(columns).toEqual(['step', 'k_packed', 'k_tail', 'v_packed', 'v_tail']);
    expect(sizeCases).toHaveLength(6);
  });

  test.each(sizeCases)('prompt $L, residual $R, $bits bits', async (one) => {
    expect(await cacheRows(one, make)).toEqual(one.rows);
  });
});
