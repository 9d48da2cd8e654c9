// Pages from outside: what the law writes passes, and each kind of damage is refused by name.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LowbitKvError } from '../../src/errors.js';
import { encodeTokens, type PackedTensorPlan } from '../../src/law/encode.js';
import { writeNumber } from '../../src/law/page-bytes.js';
import { canonicalizePage } from '../../src/plan/canonical.js';
import { PARAMETER_BYTES, type ParameterName } from '../../src/plan/layout.js';
import { validatePage } from '../../src/plan/validate-page.js';
import { anyPlan, THRESHOLDS } from '../law/page-samples.js';
import { bandScheme, groupScheme, normalBits, planOf } from '../law/support.js';

function packed(plan: PackedTensorPlan, tokens: Uint16Array, count: number): Uint8Array {
  const page = new Uint8Array(plan.layout.pageBytes);
  encodeTokens(plan, tokens, count, null, page, 0);
  return page;
}

function refusal(act: () => void): LowbitKvError {
  try {
    act();
  } catch (error) {
    if (LowbitKvError.is(error, 'BLOCK_INVALID')) return error;
    throw error;
  }
  return expect.fail('nothing was refused');
}

const ASYMMETRIC = { mode: 'asymmetric', codes: 'uniform' } as const;
const FULL = { mode: 'symmetric', codes: 'full' } as const;

/** A page of two heads, 16 tokens, 16 channels, and a way to write a parameter of it. */
function sample(scheme = groupScheme(4, 'tokens', 8, ASYMMETRIC)) {
  const banded = scheme.outliers?.kind === 'bands';
  const plan = planOf(scheme, {
    heads: 2,
    headDim: 16,
    blockTokens: 16,
    ...(banded ? { thresholds: THRESHOLDS } : {}),
  });
  const page = packed(plan, normalBits(16 * 32, 6), 16);
  const set = (head: number, name: ParameterName, index: number, bits: number) => {
    const plane = plan.layout.parameters.find((candidate) => candidate.name === name)!;
    const bytes = PARAMETER_BYTES[plane.type];
    writeNumber(page, head * plan.layout.headBytes + plane.offset + bytes * index, bytes, bits);
  };
  return { plan, page, set };
}

describe('validatePage accepts what the law writes', () => {
  const extreme = fc.constantFrom('normal', 'tiny', 'huge', 'zero', 'constant', 'masked');
  it('for every plan, any number of valid tokens, and hard data', () => {
    fc.assert(
      fc.property(anyPlan, fc.nat(), fc.nat(), extreme, (plan, seed, a, kind) => {
        const { blockTokens, heads, headDim } = plan.layout;
        const tokens = normalBits(blockTokens * heads * headDim, seed, () => ({
          mean: kind === 'constant' ? 0.5 : 0,
          spread: { tiny: 2 ** -18, huge: 12000, zero: 0, constant: 0 }[kind as 'tiny'] ?? 1,
        }));
        if (kind === 'masked') for (let i = 0; i < tokens.length; i += 7) tokens[i] = 0x7e00;
        const page = packed(plan, tokens, blockTokens);
        const valid = a % (blockTokens + 1);
        canonicalizePage(plan.layout, page, valid);
        expect(() => validatePage(plan, page, valid)).not.toThrow();
      }),
      { numRuns: 400 },
    );
  });
});

describe('validatePage refuses', () => {
  it.each([
    ['asymmetric', groupScheme(4, 'tokens', 8, ASYMMETRIC)],
    ['symmetric', groupScheme(3, 'tokens', 8, FULL)],
    [
      'hybrid',
      groupScheme(2, 'tokens', 8, {
        mode: 'hybrid',
        codes: 'full',
        asymmetricBits: 2,
        norm: 'l1',
        tie: 'symmetric',
      }),
    ],
  ])('a scale of zero beside codes, %s', (mode, scheme) => {
    const { plan, page, set } = sample(scheme);
    set(1, 'scale', 16 + 3, mode === 'hybrid' ? 0x8000 : 0);
    const error = refusal(() => validatePage(plan, page, 16, 7));
    expect(error.where).toEqual({ tensor: 'key', layer: 7, head: 1, group: 1, channel: 3 });
    expect(error.message).toContain('a scale of zero');
    expect(error.message).toContain('tensor "key", layer 7, head 1');
  });

  it('a scale of zero along channels, naming the slot', () => {
    const { plan, page, set } = sample(groupScheme(4, 'channels', 8, ASYMMETRIC));
    set(0, 'scale', 5 * 2 + 1, 0);
    const error = refusal(() => validatePage(plan, page, 16));
    expect(error.where).toEqual({ tensor: 'key', head: 0, group: 1, slot: 5 });
  });

  it.each([
    ['scale', 0x7c00, 'not finite'],
    ['zero', 0xfc00, 'not finite'],
    ['zero', 0x7e01, 'not finite'],
    ['scale', 0x03ff, 'subnormal'],
    ['scale', 0xb800, 'negative'],
    ['scale', 0x8000, 'negative'],
  ] as const)('a %s of 0x%s: %s', (name, bits, message) => {
    const { plan, page, set } = sample();
    set(0, name, 2, bits);
    const error = refusal(() => validatePage(plan, page, 16));
    expect(error.message).toContain(message);
    expect(error.where).toMatchObject({ head: 0, group: 0, channel: 2 });
  });

  it.each([
    ['f32', 'scale', 0x7f800000, 'not finite'],
    ['f32', 'scale', 0x007fffff, 'subnormal'],
    ['f32', 'scale', 0xbf800000, 'negative'],
    ['f32', 'zero', 0xff800000, 'not finite'],
    ['e4m3', 'scale', 0x7f, 'not finite'],
    ['e4m3', 'scale', 0xb8, 'negative'],
    ['e8m0', 'scale', 0xff, 'not finite'],
  ] as const)('a %s %s of 0x%s: %s', (type, name, bits, message) => {
    const scheme =
      type === 'e8m0'
        ? groupScheme(4, 'tokens', 8, FULL, { scale: type })
        : groupScheme(4, 'tokens', 8, ASYMMETRIC, { scale: type, zero: 'f32' });
    const { plan, page, set } = sample(scheme);
    validatePage(plan, page, 16);
    set(1, name, 16 + 2, bits);
    const error = refusal(() => validatePage(plan, page, 16));
    expect(error.message).toContain(message);
    expect(error.where).toMatchObject({ head: 1, group: 1, channel: 2 });
  });

  it.each([
    ['f32', 0x7f7fffff],
    ['e8m0', 0xfe],
  ] as const)('a scale of %s with which a code leaves f32', (type, bits) => {
    const { plan, page, set } = sample(groupScheme(4, 'tokens', 8, FULL, { scale: type }));
    set(0, 'scale', 5, bits);
    const error = refusal(() => validatePage(plan, page, 16));
    expect(error.message).toContain('decodes to a value that is not finite');
    expect(error.where).toMatchObject({ head: 0, channel: 5 });
  });

  it.each(['f32', 'e4m3', 'e8m0'] as const)('a scale of zero beside codes, %s', (type) => {
    const { plan, page, set } = sample(groupScheme(4, 'tokens', 8, FULL, { scale: type }));
    set(0, 'scale', 5, 0);
    expect(refusal(() => validatePage(plan, page, 16)).message).toContain('a scale of zero');
  });

  it('takes a subnormal zero, the smallest scale, and a negative one where the sign means something', () => {
    const { plan, page, set } = sample();
    set(0, 'zero', 2, 0x0001);
    set(0, 'scale', 2, 0x0400);
    expect(() => validatePage(plan, page, 16)).not.toThrow();
    const signed = sample(groupScheme(4, 'tokens', 8, { mode: 'symmetric', codes: 'fullSigned' }));
    signed.set(0, 'scale', 0, 0xb800);
    expect(() => validatePage(signed.plan, signed.page, 16)).not.toThrow();
  });

  it('a zero in a symmetric group of a hybrid block', () => {
    const { plan, page, set } = sample(
      groupScheme(2, 'tokens', 8, {
        mode: 'hybrid',
        codes: 'full',
        asymmetricBits: 2,
        norm: 'l1',
        tie: 'symmetric',
      }),
    );
    set(0, 'scale', 0, 0x3800);
    set(0, 'zero', 0, 0x3800);
    expect(refusal(() => validatePage(plan, page, 16)).message).toContain('symmetric group');
  });

  it.each(['midRise', 'uniform'] as const)('steps of zero beside codes, bands %s', (middle) => {
    const names: ParameterName[] = [
      'outerStep',
      'innerStep',
      middle === 'midRise' ? 'middleMaximum' : 'middleStep',
    ];
    for (const name of names) {
      const { plan, page, set } = sample(bandScheme(middle, 'head'));
      for (let slot = 0; slot < 16; slot++) set(1, name, slot, 0);
      const error = refusal(() => validatePage(plan, page, 16));
      expect(error.message).toContain(name);
      expect(error.where).toMatchObject({ tensor: 'key', head: 1 });
    }
  });

  it('outlier lists out of order or out of their room', () => {
    const { plan, page } = sample(bandScheme('midRise', 'head', 8));
    const { endOffsets, entries } = plan.layout.sparse!;
    const damage = (at: number, value: number) => {
      const copy = page.slice();
      expect(copy[at]).not.toBe(value);
      copy[at] = value;
      return refusal(() => validatePage(plan, copy, 16));
    };
    const first = page[endOffsets.offset]!;
    expect(first).toBeGreaterThan(1);
    expect(entries.capacity).toBe(128);
    expect(damage(endOffsets.offset, 129).message).toContain('end offset');
    expect(damage(endOffsets.offset + 2, 0).message).toContain('end offset');
    // Swapping two entries of the first token breaks the order of its indices.
    const swapped = page.slice();
    swapped[entries.offset] = page[entries.offset + 1]!;
    swapped[entries.offset + 1] = page[entries.offset]!;
    const error = refusal(() => validatePage(plan, swapped, 16));
    expect(error.message).toContain('indices');
    expect(error.where).toMatchObject({ head: 0, slot: 0, group: 0 });
    expect(damage(entries.offset, page[entries.offset]! | 63).message).toContain('indices');
    expect(damage(entries.offset + 1, page[entries.offset]!).message).toContain('indices');
    // One channel beyond the head, as the last of the first token.
    const last = entries.offset + first - 1;
    expect(damage(last, (page[last]! & ~63) | 16)).toMatchObject({ value: 16 });
  });

  it('a fifth bit beside an inner step of zero', () => {
    const { plan, page, set } = sample(bandScheme('midRise', 'head', 8));
    const { endOffsets, entries } = plan.layout.sparse!;
    // The inner outliers of the first token get code 0.
    const inner = Array.from(
      { length: page[endOffsets.offset]! },
      (_, i) => entries.offset + i,
    ).filter((at) => (page[at]! & 64) === 0);
    for (const at of inner) {
      page[at]! &= 63;
      page[page[at]! >> 1]! &= page[at]! % 2 === 0 ? 0xf0 : 0x0f;
    }
    set(0, 'innerStep', 0, 0);
    validatePage(plan, page, 16);
    const channel = page[inner[0]!]!;
    page[inner[0]!]! |= 128;
    const error = refusal(() => validatePage(plan, page, 16));
    expect(error.message).toContain('innerStep of zero');
    expect(error).toMatchObject({ value: 16, where: { head: 0, slot: 0, channel } });
  });

  it.each(['tokens', 'channels'] as const)('damaged top outliers, groups along %s', (along) => {
    const outliers = { kind: 'top', count: 2, storage: { format: 'list' } } as const;
    const { plan, page } = sample({ ...groupScheme(4, along, 8, ASYMMETRIC), outliers });
    validatePage(plan, page, 16);
    const { headBytes, codes } = plan.layout;
    const { values, channels } = plan.layout.top!;
    const damaged = (at: number, change: (byte: number) => number) => {
      const copy = page.slice();
      copy[headBytes + at] = change(page[headBytes + at]!);
      expect(copy).not.toEqual(page);
      return refusal(() => validatePage(plan, copy, 16));
    };
    // Both outliers of slot 5 of head 1.
    const [first, second] = page.subarray(headBytes + channels.offset + 10).subarray(0, 2);
    const where = { tensor: 'key', head: 1, slot: 5 };
    const swapped = damaged(channels.offset + 11, () => first!);
    expect(swapped).toMatchObject({ where, value: first, valid: `${first! + 1} to 15` });
    expect(damaged(channels.offset + 10, () => 16)).toMatchObject({ where, valid: '0 to 15' });
    const infinite = damaged(values.offset + 4 * 5 + 3, (byte) => byte | 0x7c);
    expect(infinite.message).toContain('not finite');
    expect(infinite.where).toEqual({ ...where, channel: second });
    const [row, column] = along === 'tokens' ? [second!, 5] : [5, second!];
    const coded = damaged(row * codes.rowBytes + (column >> 1), (byte) =>
      column % 2 === 0 ? byte | 1 : byte | 16,
    );
    expect(coded.message).toContain('has a code as well');
    expect(coded.where).toEqual({ ...where, channel: second });
  });

  it.each(['tokens', 'channels'] as const)('a code without a level, along %s', (along) => {
    const codes = { levels: [-1, 0, 1], scaledBy: 'absoluteMaximum' } as const;
    const { plan, page } = sample(groupScheme(2, along, 8, { mode: 'symmetric', codes }));
    validatePage(plan, page, 16);
    // Code 3 of head 1: in row 2, the second byte, its lowest field.
    const at = plan.layout.headBytes + 2 * plan.layout.codes.rowBytes + 1;
    page[at] = page[at]! | 3;
    const error = refusal(() => validatePage(plan, page, 16));
    expect(error).toMatchObject({ value: 3, valid: '0 to 2' });
    const where = along === 'tokens' ? { channel: 2, slot: 4 } : { slot: 2, channel: 4 };
    expect(error.where).toMatchObject({ tensor: 'key', head: 1, ...where });
  });

  it('bytes that belong to no valid token, wrong sizes and wrong counts', () => {
    const { plan, page } = sample();
    expect(refusal(() => validatePage(plan, page, 8)).message).toContain('no valid token');
    expect(refusal(() => validatePage(plan, page.subarray(1), 16)).message).toContain('size');
    expect(refusal(() => validatePage(plan, page, 17)).message).toContain('valid tokens');
    const empty = new Uint8Array(page.length);
    validatePage(plan, empty, 0);
    empty[0] = 1;
    expect(refusal(() => validatePage(plan, empty, 0)).message).toContain('no valid token');
  });
});
