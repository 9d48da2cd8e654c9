// Scales and offsets of every type: nearest numbers against search over all of them, limits, and what is no member of a group.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parameterBits, parameterValue, scaleRule } from '../../src/law/parameters.js';
import { groupQuantizer } from '../../src/law/quantize.js';
import type { ParameterType, Quantizer } from '../../src/scheme.js';
import { nearestExactly } from './exact.js';
import { QUANTIZERS } from './page-samples.js';
import { f16Parameters, groupScheme } from './support.js';

const LARGEST_F32 = 3.4028234663852886e38;

/** The E4M3 numbers from 0 up, from their definition. */
const E4M3 = Array.from({ length: 127 }, (_, bits) =>
  bits < 8 ? bits / 512 : (1 + (bits % 8) / 8) * 2 ** (Math.floor(bits / 8) - 7),
);

describe('e4m3 scales', () => {
  const rule = scaleRule('e4m3', 1);

  it('have the 127 values of OCP E4M3FN, 448 the largest', () => {
    expect(E4M3.map((_, bits) => rule.value(bits))).toEqual(E4M3);
    expect(E4M3.at(-1)).toBe(448);
    expect([rule.value(0x7f), rule.value(0xff)]).toEqual([Number.NaN, Number.NaN]);
    expect(rule.value(0x80 | 0x38)).toBe(-1);
  });

  it('are nearest, ties to even, from the smallest subnormal to saturation', () => {
    for (let bits = 2; bits < 127; bits++) {
      const [low, high] = [E4M3[bits - 1] as number, E4M3[bits] as number];
      const middle = (low + high) / 2;
      const even = bits % 2 === 0 ? bits : bits - 1;
      expect(rule.ofExtent(high)).toBe(bits);
      expect(rule.ofExtent(middle)).toBe(even);
      expect(rule.ofExtent(Math.fround(middle * (1 - 2 ** -23)))).toBe(bits - 1);
      expect(rule.ofExtent(Math.fround(middle * (1 + 2 ** -23)))).toBe(bits);
    }
    for (const large of [448, 449, 464, 1e9, LARGEST_F32, Number.POSITIVE_INFINITY])
      expect(rule.ofExtent(large)).toBe(126);
    for (const small of [2 ** -9, 2 ** -10, 2 ** -11, 2 ** -149])
      expect(rule.ofExtent(small)).toBe(1);
    expect(rule.ofExtent(0)).toBe(0);
  });

  it('take the nearest root, which an f32 root would sometimes miss', () => {
    // The square of a middle, and its f32 neighbours.
    for (let bits = 2; bits < 127; bits++) {
      const middle = ((E4M3[bits - 1] as number) + (E4M3[bits] as number)) / 2;
      const square = middle * middle;
      expect(rule.ofMeanSquare(Math.fround(square * (1 + 2 ** -23)))).toBe(bits);
      expect(rule.ofMeanSquare(Math.fround(square * (1 - 2 ** -24)))).toBe(bits - 1);
    }
  });
});

describe('f32 scales', () => {
  const rule = scaleRule('f32', 3);
  const value = (extent: number) => rule.value(rule.ofExtent(extent));

  it('are the f32 product as it is, with its sign', () => {
    for (const extent of [1, -1, 0.1, 65504, 2 ** -24, 1e30])
      expect(value(extent)).toBe(Math.fround(Math.fround(extent) * Math.fround(1 / 3)));
    expect(Object.is(value(-0), 0)).toBe(true);
  });

  it('are never subnormal and never infinite', () => {
    expect(value(2 ** -130)).toBe(2 ** -126);
    expect(value(-(2 ** -149) * 8)).toBe(-(2 ** -126));
    expect(value(Number.POSITIVE_INFINITY)).toBe(LARGEST_F32);
    expect(value(Number.NEGATIVE_INFINITY)).toBe(-LARGEST_F32);
  });

  it('give the code nearest to the exact quotient', () => {
    fc.assert(
      fc.property(
        fc.array(fc.float({ noNaN: true, noDefaultInfinity: true, min: -1e6, max: 1e6 }), {
          minLength: 8,
          maxLength: 8,
        }),
        fc.constantFrom(2, 3, 4, 8),
        (list, bits) => {
          const values = Float32Array.from(list);
          const quantizer = { mode: 'symmetric', codes: 'signmag' } as const;
          const scheme = groupScheme(bits as 2, 'channels', 8, quantizer, { scale: 'f32' });
          const { codes, scales, quantize } = groupQuantizer(scheme, 1, 8);
          quantize(values, 1);
          const scale = parameterValue('f32')(scales[0]!);
          const top = 2 ** (bits - 1) - 1;
          for (const [i, x] of values.entries()) {
            const nearest = scale === 0 ? 0 : nearestExactly(x, scale);
            const code = Math.min(Math.max(nearest, -top), top);
            expect(codes[i]).toBe(code & (2 ** bits - 1));
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('e8m0 scales', () => {
  it('are the exponent of the largest magnitude less that of the largest level', () => {
    const rule = scaleRule('e8m0', 6);
    expect([4, 7.99, 8, 3.99, 1].map(rule.ofExtent)).toEqual([127, 127, 128, 126, 125]);
    const small = scaleRule('e8m0', 0.3);
    expect([1, 0.25, 0.2499].map(small.ofExtent)).toEqual([129, 127, 126]);
    expect(rule.ofExtent(0)).toBe(0);
  });

  it('stay between 2^-126 and 2^127; code 0 is a scale of 0', () => {
    const rule = scaleRule('e8m0', 1);
    expect(rule.ofExtent(2 ** -149)).toBe(1);
    expect(rule.ofExtent(2 ** -126)).toBe(1);
    expect(rule.ofExtent(LARGEST_F32)).toBe(254);
    expect(rule.ofExtent(Number.POSITIVE_INFINITY)).toBe(254);
    expect([0, 1, 127, 254].map(rule.value)).toEqual([0, 2 ** -126, 1, 2 ** 127]);
  });

  it('are the exponent of a root', () => {
    const rule = scaleRule('e8m0', 1);
    expect([1, 3.99, 4, 0.25, 0.2499].map(rule.ofMeanSquare)).toEqual([127, 127, 128, 126, 125]);
  });
});

describe('an element that is not a number', () => {
  const types = (quantizer: Quantizer): ParameterType[] =>
    quantizer.mode === 'hybrid' || quantizer.codes === 'fullSigned'
      ? ['f16', 'f32']
      : ['f16', 'f32', 'e4m3'];

  it.each(QUANTIZERS)('is no member of its group: %s', (_name, quantizer, widths) => {
    const size = 16;
    // Small integers: their sums are exact, wherever the gaps are.
    const members = [3, -4, 1, 0, 4, -1, 2, 2];
    const places = [0, 2, 3, 7, 8, 11, 14, 15];
    const values = new Float32Array(size).fill(Number.NaN);
    for (const [i, place] of places.entries()) values[place] = members[i]!;
    for (const scale of types(quantizer)) {
      const plain = f16Parameters(quantizer);
      const parameters =
        plain.scale === undefined
          ? plain
          : { scale, ...(plain.zero === undefined ? {} : { zero: plain.zero }) };
      const of = (count: number) =>
        groupQuantizer(groupScheme(widths[0]!, 'channels', count, quantizer, parameters), 1, count);
      const gaps = of(size);
      gaps.quantize(values, 1);
      const alone = of(members.length);
      alone.quantize(Float32Array.from(members), 1);
      expect([...gaps.scales, ...gaps.zeros]).toEqual([...alone.scales, ...alone.zeros]);
      expect(places.map((place) => gaps.codes[place])).toEqual([...alone.codes]);
      for (let i = 0; i < size; i++) if (!places.includes(i)) expect(gaps.codes[i]).toBe(0);
      gaps.quantize(new Float32Array(size).fill(Number.NaN), 1);
      expect([...gaps.codes, gaps.scales[0]! & 0x7fff, gaps.zeros[0]]).toEqual(
        new Array(size + 2).fill(0),
      );
    }
  });
});

it('parameters of four bytes have room for them', () => {
  expect(parameterBits('f32', 2)).toEqual(new Uint32Array(2));
  expect(parameterBits('e4m3', 3)).toEqual(new Uint16Array(3));
});
