// The sort of calibration samples against the language's own.
import { expect, test } from 'vitest';
import { rising } from '../src/rising.js';

test('the same bits as `sort` gives for numbers of every size, the input left alone', () => {
  for (const count of [0, 1, 2, 3, 100, 10_000]) {
    const bits = Uint32Array.from({ length: count }, (_, i) => Math.imul(i + 1, 0x9e3779b1));
    const numbers = [...new Float32Array(bits.buffer)].filter((value) => !Number.isNaN(value));
    const values = Float32Array.from([...numbers, 0, -0, 1e-45, -1e-45, 0, -0]);
    const before = values.slice();
    expect([...rising(values)]).toEqual([...before.slice().sort()]);
    expect([...values]).toEqual([...before]);
  }
});

test('many values, and infinities and NaN of both signs at the ends', () => {
  const values = Float32Array.from({ length: 100_000 }, (_, i) => Math.sin(i) * 2 ** (i % 60));
  expect(rising(values)).toEqual(values.slice().sort());
  const bits = Uint32Array.of(0x7fc00000, 0xff800000, 0x3f800000, 0xffc00000, 0x7f800000);
  const sorted = rising(new Float32Array(bits.buffer));
  expect([...sorted]).toEqual([Number.NaN, -Infinity, 1, Infinity, Number.NaN]);
});
