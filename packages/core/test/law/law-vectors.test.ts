// Vectors that an independent Python program computed from docs/law.md, through the quantizers and through whole pages.
import { describe, expect, it } from 'vitest';
import { decodeF16 } from '../../src/float16.js';
import { decodeTokens } from '../../src/law/decode.js';
import { encodeTokens } from '../../src/law/encode.js';
import { readEndOffset } from '../../src/law/page-bytes.js';
import { channelReciprocals } from '../../src/law/statistics.js';
import { signedCode } from '../../src/law/symmetric.js';
import type { ParameterName } from '../../src/plan/layout.js';
import type { Quantizer } from '../../src/scheme.js';
import { bandScheme, f16Parameters, groupScheme, hex, planOf, readParameter } from './support.js';
import { bitsOf, bytesOfHex, floatsOf, lawVectors, typedQuantizer } from './vectors.js';

/** Codes, parameters and decoded values of one group, stored along an axis as the only group of a page. */
function throughPage(
  x: readonly string[],
  bits: 1 | 2 | 3 | 4 | 8,
  quantizer: Quantizer,
  along: 'tokens' | 'channels',
  parameters = f16Parameters(quantizer),
) {
  const bitsIn = bitsOf(x);
  const size = bitsIn.length;
  const shape =
    along === 'channels'
      ? { heads: 1, headDim: size, blockTokens: 1 }
      : { heads: 1, headDim: 1, blockTokens: size };
  const plan = planOf(groupScheme(bits, along, size, quantizer, parameters), shape);
  const page = new Uint8Array(plan.layout.pageBytes);
  const count = along === 'channels' ? 1 : size;
  encodeTokens(plan, bitsIn, count, null, page, 0);
  const decoded = new Float32Array(size);
  decodeTokens(plan, page, 0, 0, count, decoded);
  return {
    packed: page.subarray(0, (size * bits) / 8),
    scale: parameters.scale ? readParameter(plan, page, 0, 'scale', 0) : null,
    zero: parameters.zero ? readParameter(plan, page, 0, 'zero', 0) : null,
    decoded,
  };
}

const sameValues = (actual: ArrayLike<number>, expected: ArrayLike<number>) =>
  actual.length === expected.length && Array.from(actual).every((v, i) => v === expected[i]);

describe.each(['channels', 'tokens'] as const)('one group along %s', (along) => {
  const check = (
    row:
      | (typeof lawVectors.symmetric)[number]
      | (typeof lawVectors.asymmetric)[number]
      | (typeof lawVectors.levels)[number],
    quantizer: Quantizer,
  ) => {
    const result = throughPage(row.x, row.bits, quantizer, along);
    expect(result.packed).toEqual(bytesOfHex(row.packed));
    expect([result.scale, result.zero]).toEqual([
      hex(row.scale),
      'zero' in row ? hex(row.zero) : null,
    ]);
    expect(sameValues(result.decoded, floatsOf(row.decoded))).toBe(true);
  };

  it.each(lawVectors.symmetric.map((row) => [row.codes, row.bits, row.name, row] as const))(
    'symmetric %s, %d bits: %s',
    (_codes, _bits, _name, row) => check(row, { mode: 'symmetric', codes: row.codes }),
  );

  it.each(lawVectors.levels.map((row) => [row.table, row.name, row] as const))(
    'levels of %s: %s',
    (_table, _name, row) => {
      const { levels, scaledBy } = row;
      check(row, { mode: 'symmetric', codes: { levels, scaledBy } });
    },
  );

  it.each(lawVectors.asymmetric.map((row) => [row.bits, row.name, row] as const))(
    'asymmetric, %d bits: %s',
    (_bits, _name, row) => check(row, { mode: 'asymmetric', codes: 'uniform' }),
  );

  it.each(
    lawVectors.types.map((row) => {
      const { scale = 'no scale', zero = 'no zero' } = row.parameters;
      const codes = JSON.stringify(row.quantizer.codes);
      return [row.quantizer.mode, codes, row.bits, scale, zero, row.name, row] as const;
    }),
  )('%s %s, %d bits, %s, %s: %s', (_mode, _codes, _bits, _scale, _zero, _name, row) => {
    const result = throughPage(row.x, row.bits, typedQuantizer(row), along, row.parameters);
    expect(result.packed).toEqual(bytesOfHex(row.packed));
    expect([result.scale, result.zero]).toEqual([row.scale, row.zero]);
    expect(sameValues(result.decoded, floatsOf(row.decoded))).toBe(true);
  });

  it.each(lawVectors.hybrid.map((row) => [row.codes, row.asymmetricBits, row.name, row] as const))(
    'hybrid %s with %d-bit asymmetric codes: %s',
    (_codes, _bits, _name, row) => {
      const { codes, asymmetricBits, tie } = row;
      check(row, { mode: 'hybrid', codes, asymmetricBits, norm: 'l1', tie });
      expect((hex(row.scale) & 0x8000) !== 0).toBe(row.asymmetric);
    },
  );
});

it('codes of the vectors are those of the packed bytes', () => {
  for (const row of lawVectors.symmetric) {
    const bytes = bytesOfHex(row.packed);
    const codes = row.q.map((_, j) => {
      const bit = j * row.bits;
      const word = bytes[bit >> 3]! | ((bytes[(bit >> 3) + 1] ?? 0) << 8);
      return signedCode((word >> (bit & 7)) & (2 ** row.bits - 1), row.bits);
    });
    expect(codes).toEqual(row.q);
  }
});

describe('pages with top outliers', () => {
  it.each(
    lawVectors.top.map((row) => {
      const codes = JSON.stringify(row.quantizer.codes);
      return [row.quantizer.mode, codes, row.parameters.scale, row.name, row.along, row] as const;
    }),
  )('%s %s, %s: %s along %s', (_mode, _codes, _scale, _name, _along, row) => {
    const { along, size, bits, count, parameters } = row;
    const headDim = row.tokens[0]!.length;
    const blockTokens = row.tokens.length;
    const groups = groupScheme(bits, along, size, typedQuantizer(row), parameters);
    const outliers = { kind: 'top', count, storage: { format: 'list' } } as const;
    const plan = planOf({ ...groups, outliers }, { heads: 2, headDim, blockTokens });
    const page = new Uint8Array(plan.layout.pageBytes);
    const zeros = row.tokens.map((token) => token.map(() => '0x0000'));
    // The second head holds the tokens, so that offsets inside a page count.
    const tokens = row.tokens.flatMap((token, i) => [...bitsOf(zeros[i]!), ...bitsOf(token)]);
    encodeTokens(plan, Uint16Array.from(tokens), blockTokens, null, page, 0);
    const base = plan.layout.headBytes;
    const { rowBytes } = plan.layout.codes;
    for (const [i, packed] of row.packed.entries()) {
      const bytes = bytesOfHex(packed);
      expect(page.subarray(base + i * rowBytes, base + i * rowBytes + bytes.length)).toEqual(bytes);
    }
    const perRow = row.groups.length / row.packed.length;
    for (const [i, [scale, zero]] of row.groups.entries()) {
      const [line, group] = [Math.floor(i / perRow), i % perRow];
      const entry = along === 'tokens' ? group * headDim + line : i;
      if (scale !== null) expect(readParameter(plan, page, 1, 'scale', entry)).toBe(scale);
      if (zero !== null) expect(readParameter(plan, page, 1, 'zero', entry)).toBe(zero);
    }
    const { channels } = plan.layout.top!;
    const stored = page.subarray(base + channels.offset).subarray(0, blockTokens * count);
    expect([...stored]).toEqual(row.channels.flat());
    const decoded = new Float32Array(blockTokens * headDim);
    decodeTokens(plan, page, 1, 0, blockTokens, decoded);
    expect(
      sameValues(
        decoded,
        row.decoded.flatMap((line) => [...floatsOf(line)]),
      ),
    ).toBe(true);
  });
});

describe('one vector with bands', () => {
  it.each(lawVectors.bands.map((row) => [row.middle, row.name, row] as const))(
    '%s: %s',
    (_middle, _name, row) => {
      const bits = bitsOf(row.x);
      const headDim = bits.length;
      const shape = { heads: 1, headDim, blockTokens: 1, thresholds: row.thresholds };
      const plan = planOf(bandScheme(row.middle, 'head'), shape);
      const page = new Uint8Array(plan.layout.pageBytes);
      encodeTokens(plan, bits, 1, null, page, 0);
      const nibbles = row.nibbles.map((_, i) => (page[i >> 1]! >> (4 * (i & 1))) & 15);
      expect(nibbles).toEqual(row.nibbles);
      for (const [name, text] of Object.entries(row.parameters))
        expect([name, readParameter(plan, page, 0, name as ParameterName, 0)]).toEqual([
          name,
          hex(text),
        ]);
      const { entries } = plan.layout.sparse!;
      let start = 0;
      for (const [chunk, expected] of row.outliers.entries()) {
        const end = readEndOffset(page, 0, plan.layout, chunk);
        expect([...page.subarray(entries.offset + start, entries.offset + end)]).toEqual(expected);
        start = end;
      }
      const decoded = new Float32Array(headDim);
      decodeTokens(plan, page, 0, 0, 1, decoded);
      expect(sameValues(decoded, floatsOf(row.decoded))).toBe(true);
    },
  );
});

describe('channel scale', () => {
  it.each(lawVectors.channelScale.map((row) => [row.name, row] as const))('%s', (_name, row) => {
    const headDim = row.reciprocals.length;
    const tokens = Uint16Array.from(row.tokens.flatMap((line) => [...bitsOf(line)]));
    const { clamp, minimumSpread } = row;
    const result = channelReciprocals(decodeF16(tokens), 1, headDim, { clamp, minimumSpread });
    expect([...result]).toEqual(row.reciprocals.map(hex));
    // A second head must not see the first one.
    const doubled = new Uint16Array(tokens.length * 2).fill(0x4900);
    for (let i = 0; i < tokens.length; i++) {
      const token = Math.floor(i / headDim);
      doubled[(token * 2 + 1) * headDim + (i % headDim)] = tokens[i]!;
    }
    const both = channelReciprocals(decodeF16(doubled), 2, headDim, { clamp, minimumSpread });
    expect(both.subarray(headDim)).toEqual(result);
    expect(decodeF16(result).every((r) => r > 0 && Number.isFinite(r))).toBe(true);
  });
});
