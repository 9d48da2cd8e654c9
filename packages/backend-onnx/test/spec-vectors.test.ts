/**
 * The normative vectors on the exported encode graphs: codes, parameters, packed words and sparse bytes.
 */
import { readFileSync } from 'node:fs';
import { f16ToF32 } from '@lowbit-kv/core';
import { SPEC_VECTOR_DECODED } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import { encodeOnce, readCodes, signed } from './support/encode-once.js';
import { asymmetric, bands, hybrid, symmetric } from './support/schemes.js';

interface Vector {
  readonly x: readonly (number | string)[];
  readonly codes: number[];
  readonly half_even: number[];
  readonly q: number[];
  readonly scale: string | string[];
  readonly scale_f16: string[];
  readonly min: string | string[];
  readonly words: string[];
  readonly twos_complement_words: string[];
  readonly asym: boolean;
  readonly dequant: number[];
  readonly t_o: [number, number];
  readonly t_i: [number, number];
  readonly nibbles: number[];
  readonly coo: string[];
  readonly params: { readonly mid: number[]; readonly out: number[]; readonly inn: number[] };
}

const file = new URL('../../../fixtures/spec-vectors.json', import.meta.url);
const vectors = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Vector>;

function vector(name: string): Vector & { readonly values: number[] } {
  const found = vectors[name];
  if (found === undefined) throw new Error(`no vector ${name}`);
  // f16 patterns are written in hexadecimal, f32 values as numbers.
  const values = found.x.map((x) => (typeof x === 'string' ? f16ToF32(Number(x)) : x));
  return { ...found, values };
}

const bitsOf = (patterns: string | string[]) => [patterns].flat().map(Number);

function wordsOf(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i, true));
}

describe('affine', () => {
  it.each([
    ['affine_b2_g32', 2],
    ['affine_b4_g32', 4],
  ] as const)('%s', async (name, bits) => {
    const { values, codes, scale, min, words } = vector(name);
    const encoded = await encodeOnce(asymmetric(bits, 'channels', 32), values, 32);
    expect(readCodes(encoded.codes, 32, bits)).toEqual(codes);
    expect(wordsOf(encoded.codes)).toEqual(words.map(Number));
    expect([...(encoded.parameters.scale ?? [])]).toEqual(bitsOf(scale));
    expect([...(encoded.parameters.zero ?? [])]).toEqual(bitsOf(min));
  });

  it('the same groups along tokens', async () => {
    const { values, words, scale } = vector('affine_b4_g32');
    const encoded = await encodeOnce(asymmetric(4, 'tokens', 32), values, 1);
    expect(wordsOf(encoded.codes)).toEqual(words.map(Number));
    expect([...(encoded.parameters.scale ?? [])]).toEqual(bitsOf(scale));
  });

  it('affine_constant', async () => {
    const { values, codes, scale, min } = vector('affine_constant');
    const encoded = await encodeOnce(asymmetric(2, 'channels', 32), values, 32);
    expect(readCodes(encoded.codes, 32, 2)).toEqual(codes);
    expect([...(encoded.parameters.scale ?? [])]).toEqual(bitsOf(scale));
    expect([...(encoded.parameters.zero ?? [])]).toEqual(bitsOf(min));
  });

  it('affine_ties_b2', async () => {
    const { values, half_even } = vector('affine_ties_b2');
    const encoded = await encodeOnce(asymmetric(2, 'channels', 5), values, 5);
    expect(readCodes(encoded.codes, 5, 2)).toEqual(half_even);
  });
});

describe('symmetric', () => {
  it("three-bit sign and magnitude, two's complement words", async () => {
    const { values, q, scale_f16, twos_complement_words } = vector(nameOf('_sym3_signmag_g32'));
    const encoded = await encodeOnce(symmetric(3, 'signmag', 'channels', 32), values, 32);
    expect(readCodes(encoded.codes, 32, 3).map((code) => signed(code, 3))).toEqual(q);
    expect(wordsOf(encoded.codes)).toEqual(twos_complement_words.map(Number));
    expect([...(encoded.parameters.scale ?? [])]).toEqual(bitsOf(scale_f16));
  });

  it.each([
    ['signmag', 1, [-2, -1, 0, 0, 1, 1, 2, 3]],
    ['full', 0.75, [-3, -1, -1, 0, 1, 2, 3, 3]],
    ['fullSigned', -0.75, [3, 1, 1, 0, -1, -2, -3, -4]],
  ] as const)('worked example, three bits, %s', async (codes, scale, expected) => {
    const x = [-2, -1, -0.4, 0.1, 0.6, 1.2, 1.9, 3];
    const encoded = await encodeOnce(symmetric(3, codes, 'channels', 8), x, 8);
    expect(f16ToF32(encoded.parameters.scale?.[0] ?? 0)).toBe(scale);
    expect(readCodes(encoded.codes, 8, 3).map((code) => signed(code, 3))).toEqual(expected);
  });
});

describe('hybrid', () => {
  const rules = {
    cuda: hybrid(2, 'full', 2, 'symmetric', 'channels', 8),
    python: hybrid(2, 'signmag', 1, 'asymmetric', 'channels', 8),
  };
  it.each([
    ['positive', 'cuda'],
    ['positive', 'python'],
    ['zero_mean', 'cuda'],
    ['zero_mean', 'python'],
  ] as const)('two bits, %s values, %s rule', async (data, rule) => {
    const { values, asym, dequant } = vector(nameOf(`_hybrid2_${data}_${rule}`));
    const encoded = await encodeOnce(rules[rule], values, 8);
    const scaleBits = encoded.parameters.scale?.[0] ?? 0;
    expect((scaleBits & 0x8000) !== 0).toBe(asym);
    const zero = f16ToF32(encoded.parameters.zero?.[0] ?? 0);
    if (!asym) expect(encoded.parameters.zero?.[0]).toBe(0);
    const scale = f16ToF32(scaleBits & 0x7fff);
    const decoded = readCodes(encoded.codes, 8, 2).map(
      (code) => (asym ? code : signed(code, 2)) * scale + zero,
    );
    for (const [i, value] of decoded.entries())
      expect(Math.abs(value - (dequant[i] ?? Number.NaN))).toBeLessThanOrEqual(
        SPEC_VECTOR_DECODED.value,
      );
  });
});

describe('outlier bands', () => {
  it.each([
    ['mm', 'uniform', ['middleMinimum', 'middleStep']],
    ['sm', 'midRise', ['middleMaximum']],
  ] as const)('%s', async (suffix, middle, middleNames) => {
    const { values, t_o, t_i, nibbles, coo, params } = vector(nameOf(`_${suffix}`));
    const thresholds = {
      outerLow: t_o[0],
      outerHigh: t_o[1],
      innerLow: t_i[0],
      innerHigh: t_i[1],
    };
    const { codes, entries, parameters } = await encodeOnce(
      bands(middle, 'head'),
      values,
      9,
      thresholds,
    );
    expect(readCodes(codes, 9, 4)).toEqual(nibbles);
    expect([...entries]).toEqual(coo.map(Number));
    const number = (name: string) => f16ToF32(parameters[name]?.[0] ?? 0x7e00);
    expect(middleNames.map(number)).toEqual(params.mid);
    expect(['outerMinimum', 'outerStep'].map(number)).toEqual(params.out);
    expect(['innerMinimum', 'innerStep'].map(number)).toEqual(params.inn);
  });
});

/** The entry with this ending; the file names entries after the papers. */
function nameOf(ending: string): string {
  const found = Object.keys(vectors).filter((name) => name.endsWith(ending));
  expect(found).toHaveLength(1);
  return found[0] as string;
}
