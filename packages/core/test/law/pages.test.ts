// Whole pages: what encodeTokens writes is what the quantizers say, in the right place, and nothing else.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeF16, f16ToF32 } from '../../src/float16.js';
import { unpackCodes } from '../../src/law/bits.js';
import { decodeTokens } from '../../src/law/decode.js';
import { encodeTokens, type PackedTensorPlan } from '../../src/law/encode.js';
import { parameterValue, SCALE_SIGN } from '../../src/law/parameters.js';
import { groupQuantizer } from '../../src/law/quantize.js';
import { signedCode } from '../../src/law/symmetric.js';
import { canonicalizePage } from '../../src/plan/canonical.js';
import { nearestExactly } from './exact.js';
import { anyPlan, groupPlan } from './page-samples.js';
import {
  groupScheme,
  headValues,
  normalBits,
  planOf,
  readParameter,
  transpose,
} from './support.js';

/** Data whose head, channel and token show in the values. */
function dataFor(plan: PackedTensorPlan, count: number, seed: number): Uint16Array {
  const { heads, headDim } = plan.layout;
  return normalBits(count * heads * headDim, seed, (i) => ({
    mean: (Math.floor(i / headDim) % heads) * 3,
    spread: 1 + (i % headDim) / 8,
  }));
}

/** Element numbers of the top outliers of tokens `[count, headDim]`. */
function outliersOf({ layout }: PackedTensorPlan, values: Float32Array): number[] {
  const { top, headDim } = layout;
  if (top === undefined) return [];
  const elements = Array.from(values, (_, i) => i);
  const rank = (a: number, b: number) => Math.abs(values[b]!) - Math.abs(values[a]!) || a - b;
  return Array.from({ length: values.length / headDim }, (_, token) =>
    elements
      .slice(token * headDim, (token + 1) * headDim)
      .sort(rank)
      .slice(0, top.count),
  ).flat();
}

/** Decoded values of one head, `[count, headDim]`, straight from the quantizers. */
function directly(plan: PackedTensorPlan, tokens: Float32Array, count: number): Float32Array {
  const outliers = outliersOf(plan, tokens);
  const values = tokens.slice();
  for (const i of outliers) values[i] = Number.NaN;
  const { layout, scheme } = plan;
  const { headDim, tokensPerGroup, channelsPerGroup } = layout;
  const { quantizer, bits, parameters } = scheme;
  const scaleValue = parameterValue(parameters.scale ?? 'f16');
  const zeroValue = parameterValue(parameters.zero ?? 'f16');
  const sign = SCALE_SIGN[parameters.scale ?? 'f16'];
  const alongTokens = tokensPerGroup > 1;
  const size = alongTokens ? tokensPerGroup : channelsPerGroup;
  const decoded = new Float32Array(values.length);
  const tile = alongTokens ? tokensPerGroup : 1;
  for (let first = 0; first < count; first += tile) {
    const part = values.subarray(first * headDim, (first + tile) * headDim);
    const ordered = alongTokens ? transpose(part, tile, headDim) : part;
    const groups = ordered.length / size;
    const { codes, scales, zeros, quantize } = groupQuantizer(scheme, groups, size);
    quantize(ordered, groups);
    const result = Float32Array.from(codes, (code, i) => {
      const group = Math.floor(i / size);
      const stored = scales[group]!;
      const signed = (stored & sign) !== 0;
      const unsigned = quantizer.mode === 'asymmetric' || (quantizer.mode === 'hybrid' && signed);
      const level =
        typeof quantizer.codes === 'object'
          ? Math.fround((quantizer.codes.levels as number[])[code]!)
          : unsigned
            ? code
            : signedCode(code, bits);
      const scale = scaleValue(quantizer.mode === 'hybrid' && signed ? stored & ~sign : stored);
      const zero = quantizer.mode === 'symmetric' ? 0 : zeroValue(zeros[group]!);
      if (scheme.parameters.scale === undefined) return level;
      // No -0 when a negative scale meets code 0.
      return Math.fround(level * scale) + zero;
    });
    decoded.set(alongTokens ? transpose(result, headDim, tile) : result, first * headDim);
  }
  for (const i of outliers) decoded[i] = tokens[i]! + 0;
  return decoded;
}

function decodeHead(
  plan: PackedTensorPlan,
  page: Uint8Array,
  head: number,
  slot: number,
  n: number,
) {
  const result = new Float32Array(n * plan.layout.headDim + 2).fill(99);
  decodeTokens(plan, page, head, slot, n, result, 1);
  expect([result[0], result.at(-1)]).toEqual([99, 99]);
  return result.subarray(1, -1);
}

describe('encodeTokens and decodeTokens', () => {
  it('agree with the quantizers: every code set, both axes, every head, any slots', () => {
    fc.assert(
      fc.property(groupPlan, fc.nat(), fc.nat(), fc.nat(), (plan, seed, a, b) => {
        const { blockTokens, tokensPerGroup, heads, headDim } = plan.layout;
        const groups = blockTokens / tokensPerGroup;
        const slot = (a % groups) * tokensPerGroup;
        const count = (1 + (b % (groups - slot / tokensPerGroup))) * tokensPerGroup;
        const tokens = dataFor(plan, count, seed);
        const page = new Uint8Array(plan.layout.pageBytes);
        encodeTokens(plan, tokens, count, null, page, slot);
        for (let head = 0; head < heads; head++) {
          const expected = directly(plan, headValues(tokens, heads, headDim, head), count);
          expect(decodeHead(plan, page, head, slot, count)).toEqual(expected);
          // Any run of the tokens, also one that starts inside a group.
          const skip = b % count;
          const run = 1 + (a % (count - skip));
          expect(decodeHead(plan, page, head, slot + skip, run)).toEqual(
            expected.subarray(skip * headDim, (skip + run) * headDim),
          );
        }
      }),
      { numRuns: 120 },
    );
  });

  it('write the same page in one call and in several, and never touch earlier slots', () => {
    fc.assert(
      fc.property(anyPlan, fc.nat(), fc.nat(), (plan, seed, a) => {
        const { blockTokens, tokensPerGroup, heads, headDim, pageBytes } = plan.layout;
        const tokens = dataFor(plan, blockTokens, seed);
        const whole = new Uint8Array(pageBytes);
        encodeTokens(plan, tokens, blockTokens, null, whole, 0);
        const cut = (a % (blockTokens / tokensPerGroup)) * tokensPerGroup;
        const parts = new Uint8Array(pageBytes);
        const split = cut * heads * headDim;
        if (cut > 0) encodeTokens(plan, tokens.subarray(0, split), cut, null, parts, 0);
        const before = parts.slice();
        encodeTokens(plan, tokens.subarray(split), blockTokens - cut, null, parts, cut);
        expect(parts).toEqual(whole);
        if (cut > 0) {
          const after = parts.slice();
          canonicalizePage(plan.layout, after, cut);
          expect(after).toEqual(before);
        }
      }),
      { numRuns: 120 },
    );
  });

  it('decode each head from its own bytes', () => {
    fc.assert(
      fc.property(anyPlan, fc.nat(), (plan, seed) => {
        const { blockTokens, heads, headBytes, headDim } = plan.layout;
        const tokens = dataFor(plan, blockTokens, seed);
        const page = new Uint8Array(plan.layout.pageBytes);
        encodeTokens(plan, tokens, blockTokens, null, page, 0);
        for (let head = 0; head < heads; head++) {
          const clean = decodeHead(plan, page, head, 0, blockTokens).slice();
          const spoiled = page.slice();
          for (let i = 0; i < heads * headBytes; i++)
            if (Math.floor(i / headBytes) !== head) spoiled[i] = 0;
          expect(decodeHead(plan, spoiled, head, 0, blockTokens)).toEqual(clean);
          // Close to the values of this head, so not those of another one.
          const values = headValues(tokens, heads, headDim, head);
          const energy = values.reduce((sum, v) => sum + v * v, 1e-9);
          const error = values.reduce((sum, v, i) => sum + (v - clean[i]!) ** 2, 0);
          // A table may have fewer levels than its bits could tell apart, and a short scale is a coarse one.
          const { bits, quantizer, parameters } = plan.scheme;
          const full = parameters.scale === 'f16' || parameters.scale === 'f32';
          const fine = bits >= 4 && typeof quantizer.codes !== 'object' && full;
          if (fine) expect(error / energy).toBeLessThan(0.1);
        }
      }),
      { numRuns: 120 },
    );
  });

  it('apply the reciprocals of each head and channel before the quantizer', () => {
    for (const along of ['tokens', 'channels'] as const) {
      const scale = {
        kind: 'channelScale',
        scope: 'sequence',
        statistic: 'rootAbsoluteMaximum',
        statisticsTokens: 8,
        clamp: [1, 1],
        minimumSpread: 1,
      } as const;
      const groups = groupScheme(4, along, 8, { mode: 'asymmetric', codes: 'uniform' });
      const scheme = { ...groups, transforms: [scale] };
      const plan = planOf(scheme, { heads: 2, headDim: 8, blockTokens: 8 });
      const tokens = dataFor(plan, 8, 3);
      const reciprocals = Uint16Array.from({ length: 16 }, (_, i) => 0x3000 + 0x123 * i);
      const page = new Uint8Array(plan.layout.pageBytes);
      encodeTokens(plan, tokens, 8, reciprocals, page, 0);
      for (let head = 0; head < 2; head++) {
        const values = headValues(tokens, 2, 8, head).map(
          (value, i) => value * f16ToF32(reciprocals[head * 8 + (i % 8)]!),
        );
        expect(decodeHead(plan, page, head, 0, 8)).toEqual(directly(plan, values, 8));
      }
    }
  });
});

describe('the fused path of asymmetric f16 groups', () => {
  const anyBits = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }),
    fc.integer({ min: 0x3c00, max: 0x3fff }),
    fc.constantFrom(0, 0x8000, 1, 0x8001, 0x7bff, 0xfbff, 0x0400),
  );
  it('writes the bytes of the plain path on any input, NaN and infinity included', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(2, 4),
        fc.constantFrom('tokens', 'channels'),
        fc.array(anyBits, { minLength: 2 * 8 * 16, maxLength: 2 * 8 * 16 }),
        fc.boolean(),
        (bits, along, list, finite) => {
          const scheme = groupScheme(bits as 2 | 4, along, 8, {
            mode: 'asymmetric',
            codes: 'uniform',
          });
          const plan = planOf(scheme, { heads: 2, headDim: 16, blockTokens: 8 });
          const tokens = Uint16Array.from(list, (half) =>
            finite && (half & 0x7c00) === 0x7c00 ? half & 0x83ff : half,
          );
          const fused = new Uint8Array(plan.layout.pageBytes);
          encodeTokens(plan, tokens, 8, null, fused, 0);
          // Reciprocals of 1 change no value and take the plain path.
          const plain = new Uint8Array(plan.layout.pageBytes);
          encodeTokens(plan, tokens, 8, new Uint16Array(32).fill(0x3c00), plain, 0);
          expect(fused).toEqual(plain);
        },
      ),
      { numRuns: 600 },
    );
  });

  it.each([2, 4] as const)('rounds exact ties to even at %d bits, for every scale', (bits) => {
    const scheme = groupScheme(bits, 'channels', 32, { mode: 'asymmetric', codes: 'uniform' });
    const plan = planOf(scheme, { heads: 1, headDim: 32, blockTokens: 1 });
    const top = 2 ** bits - 1;
    let ties = 0;
    for (let mantissa = 1024; mantissa < 2048; mantissa++) {
      const step = mantissa * 2 ** -14;
      // Half steps from 0 up; a product with an inexact reciprocal alone would miss some.
      const values = Float32Array.from({ length: 32 }, (_, i) => Math.min(i / 2, top) * step);
      values[31] = top * step;
      const tokens = encodeF16(values);
      const page = new Uint8Array(plan.layout.pageBytes);
      encodeTokens(plan, tokens, 1, null, page, 0);
      const scale = f16ToF32(readParameter(plan, page, 0, 'scale', 0));
      const codes = new Uint8Array(32);
      unpackCodes(page, 0, 0, 32, bits, codes, 0);
      for (const [i, half] of tokens.entries()) {
        const value = f16ToF32(half);
        if ((value / scale) % 1 === 0.5) ties++;
        if (codes[i] !== nearestExactly(value, scale)) expect.fail(`${value} / ${scale}`);
      }
    }
    expect(ties).toBeGreaterThan(1000);
  });
});

describe('a block of more tokens than a tile', () => {
  it.each([4, 8] as const)('is that of its tokens one by one: %i bits', (bits) => {
    const scheme = groupScheme(bits, 'channels', 64, { mode: 'asymmetric', codes: 'uniform' });
    const plan = planOf(scheme, { heads: 2, headDim: 64, blockTokens: 44 });
    const width = 2 * 64;
    const tokens = normalBits(44 * width, 3);
    const whole = new Uint8Array(plan.layout.pageBytes);
    encodeTokens(plan, tokens, 44, null, whole, 0);
    const single = new Uint8Array(plan.layout.pageBytes);
    for (let token = 0; token < 44; token++) {
      const row = tokens.subarray(token * width, (token + 1) * width);
      encodeTokens(plan, row, 1, null, single, token);
    }
    expect(whole).toEqual(single);
  });
});
