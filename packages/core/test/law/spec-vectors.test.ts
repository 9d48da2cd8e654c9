// The worked vectors of an independent numpy program: the rows that state what lowbit-kv does.
import { describe, expect, it } from 'vitest';
import { decodeF16, f16ToF32 } from '../../src/float16.js';
import { quantizeAsymmetric } from '../../src/law/asymmetric.js';
import {
  type BandThresholds,
  decodeMidRise,
  decodeOuter,
  decodeShifted,
  INNER,
  MIDDLE,
  OUTER,
} from '../../src/law/bands.js';
import { packCodes } from '../../src/law/bits.js';
import { type HybridRule, quantizeHybrid } from '../../src/law/hybrid.js';
import { bandVector, quantizeBands } from '../../src/law/quantize-bands.js';
import { quantizeSymmetric, signedCode } from '../../src/law/symmetric.js';
import { maxAbsDifference } from '../../src/testing/index.js';
import { hex } from './support.js';
import { bitsOf, bytesOfWords, specVectors } from './vectors.js';

function asymmetric(values: Float32Array, bits: number) {
  const codes = new Uint8Array(values.length);
  const scales = new Uint16Array(1);
  const zeros = new Uint16Array(1);
  quantizeAsymmetric(values, 1, values.length, bits, codes, scales, zeros);
  return { codes, scale: scales[0]!, zero: zeros[0]! };
}

function packed(codes: Uint8Array, bits: number): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((codes.length * bits) / 8));
  packCodes(codes, 0, codes.length, bits, bytes, 0);
  return bytes;
}

describe('affine rows', () => {
  it.each([
    ['affine_b2_g32', 2],
    ['affine_b4_g32', 4],
  ] as const)('%s', (name, bits) => {
    const row = specVectors[name];
    const { codes, scale, zero } = asymmetric(decodeF16(bitsOf(row.x)), bits);
    expect([...codes]).toEqual(row.codes);
    expect([scale, zero]).toEqual([hex(row.scale[0]!), hex(row.min[0]!)]);
    expect(packed(codes, bits)).toEqual(bytesOfWords(row.words));
    const decoded = [...codes].map((code) => Math.fround(code * f16ToF32(scale) + f16ToF32(zero)));
    expect(decoded).toEqual(row.dequant);
  });

  it('affine_constant', () => {
    const row = specVectors.affine_constant;
    const { codes, scale, zero } = asymmetric(decodeF16(bitsOf(row.x)), 4);
    expect([...codes]).toEqual(row.codes);
    expect([scale, zero]).toEqual([hex(row.scale), hex(row.min)]);
  });

  it('affine_ties_b2 rounds half to even', () => {
    const row = specVectors.affine_ties_b2;
    expect([...asymmetric(decodeF16(bitsOf(row.x)), 2).codes]).toEqual(row.half_even);
  });
});

describe('symmetric rows', () => {
  it('innerq_sym3_signmag_g32, with the packed words', () => {
    const row = specVectors.innerq_sym3_signmag_g32;
    const codes = new Uint8Array(32);
    const scales = new Uint16Array(1);
    quantizeSymmetric(decodeF16(bitsOf(row.x)), 1, 32, 3, 'signmag', codes, scales);
    expect(scales[0]).toBe(hex(row.scale_f16[0]!));
    expect([...codes].map((code) => signedCode(code, 3))).toEqual(row.q);
    expect(packed(codes, 3)).toEqual(bytesOfWords(row.twos_complement_words));
  });
});

describe('hybrid rows', () => {
  const python: HybridRule = { codes: 'signmag', asymmetricBits: 1, tie: 'asymmetric' };
  const cuda: HybridRule = { codes: 'full', asymmetricBits: 2, tie: 'symmetric' };
  // The rows keep parameters in f32; ours are f16: half a step each of a scale below 1 and of a zero below 2, three scales
  // at most, and the six printed digits.
  const tolerance = 3 * 2 ** -12 + 2 ** -11 + 1e-6;

  it.each([
    ['innerq_hybrid2_positive_python', python],
    ['innerq_hybrid2_positive_cuda', cuda],
    ['innerq_hybrid2_zero_mean_python', python],
    ['innerq_hybrid2_zero_mean_cuda', cuda],
  ] as const)('%s', (name, rule) => {
    const row = specVectors[name];
    const size = row.x.length;
    const codes = new Uint8Array(size);
    const scales = new Uint16Array(1);
    const zeros = new Uint16Array(1);
    quantizeHybrid(Float32Array.from(row.x), 1, size, 2, rule, codes, scales, zeros);
    const isAsymmetric = (scales[0]! & 0x8000) !== 0;
    expect(isAsymmetric).toBe(row.asym);
    const scale = f16ToF32(scales[0]! & 0x7fff);
    const decoded = [...codes].map((code) =>
      isAsymmetric ? code * scale + f16ToF32(zeros[0]!) : signedCode(code, 2) * scale,
    );
    expect(maxAbsDifference(decoded, row.dequant)).toBeLessThan(tolerance);
    if (!isAsymmetric) expect(decoded).toEqual(row.dequant.map((value) => value + 0));
  });
});

describe('band rows', () => {
  it.each([
    ['oaken_mm', 'uniform'],
    ['oaken_sm', 'midRise'],
  ] as const)('%s', (name, middle) => {
    const row = specVectors[name];
    const edges: BandThresholds = {
      outerLow: row.t_o[0],
      outerHigh: row.t_o[1],
      // The row was computed with f32 thresholds.
      innerLow: Math.fround(row.t_i[0]),
      innerHigh: Math.fround(row.t_i[1]),
    };
    const quantized = bandVector(row.x.length);
    quantizeBands(Float32Array.from(row.x), edges, middle, quantized);
    const { nibbles, bands, fifthBits: fifth, parameters } = quantized;
    expect([...nibbles]).toEqual(row.nibbles);
    const sparse = [...bands.keys()]
      .filter((i) => bands[i] !== MIDDLE)
      .map((i) => i | (bands[i] === OUTER ? 64 : 0) | (fifth[i]! << 7));
    expect(sparse).toEqual(row.coo.map(hex));
    const value = Object.fromEntries(
      Object.entries(parameters).map(([key, bits]) => [key, f16ToF32(bits)]),
    ) as Record<keyof typeof parameters, number>;
    expect([value.outerMinimum, value.outerStep]).toEqual(row.params.out);
    expect([value.innerMinimum, value.innerStep]).toEqual(row.params.inn);
    expect(
      middle === 'midRise' ? [value.middleMaximum] : [value.middleMinimum, value.middleStep],
    ).toEqual(row.params.mid);
    const decoded = [...nibbles].map((nibble, i) => {
      if (bands[i] === OUTER)
        return decodeOuter(nibble, fifth[i]!, value.outerMinimum, value.outerStep, edges);
      if (bands[i] === INNER)
        return (nibble | (fifth[i]! << 4)) * value.innerStep + value.innerMinimum;
      return middle === 'midRise'
        ? decodeMidRise(nibble, value.middleMaximum, edges)
        : decodeShifted(nibble, value.middleMinimum, value.middleStep, edges);
    });
    // The row prints six decimals.
    expect(maxAbsDifference(decoded, row.decoded)).toBeLessThan(1e-6);
  });
});
