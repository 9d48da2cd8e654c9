// Groups of a codec: each at its place, in element order, after the transforms; a codec that fails is an error by code.
import { expect, test } from 'vitest';
import type { GroupCodec } from '../../src/codec.js';
import { decodeF16 } from '../../src/float16.js';
import { LowbitKvError } from '../../src/index.js';
import { decodeTokens } from '../../src/law/decode.js';
import { encodeTokens, type PackedTensorPlan } from '../../src/law/encode.js';
import { validatePage } from '../../src/plan/validate-page.js';
import type { QuantizedTensorScheme } from '../../src/scheme.js';
import { sharedExponentCodec, withSharedExponent } from '../../src/testing/index.js';
import { normalBits, planOf } from './support.js';

const HEADS = 2;

function codedPlan(
  groups: QuantizedTensorScheme['groups'],
  headDim: number,
  blockTokens: number,
  change: { codec?: Partial<GroupCodec>; scheme?: Partial<QuantizedTensorScheme> } = {},
): PackedTensorPlan {
  const size = groups.along === 'vector' ? headDim : groups.size;
  const scheme = { ...withSharedExponent(groups, size), ...change.scheme };
  const codecs = [{ ...sharedExponentCodec(size), ...change.codec }];
  return planOf(scheme, { heads: HEADS, headDim, blockTokens, codecs });
}

function refusal(act: () => void): LowbitKvError {
  try {
    act();
  } catch (error) {
    if (LowbitKvError.is(error)) return error;
    throw error;
  }
  return expect.fail('nothing was refused');
}

test.each([
  ['tokens', { along: 'tokens', size: 8 }, 5, 24],
  ['channels', { along: 'channels', size: 8 }, 16, 6],
  ['vectors', { along: 'vector', scope: 'head' }, 24, 6],
] as const)('groups along %s lie one after another, in element order', (_, groups, dim, block) => {
  const plan = codedPlan(groups, dim, block);
  const { headBytes } = plan.layout;
  const alongTokens = groups.along === 'tokens';
  const size = groups.along === 'vector' ? dim : groups.size;
  const codec = sharedExponentCodec(size);
  const tokens = normalBits(block * HEADS * dim, 8, (i) => ({ mean: i % 7, spread: 1 + (i % 3) }));
  const values = decodeF16(tokens);
  const at = (token: number, head: number, channel: number) =>
    values[(token * HEADS + head) * dim + channel] as number;
  const page = new Uint8Array(plan.layout.pageBytes);
  encodeTokens(plan, tokens, block, null, page, 0);
  const decoded = new Float32Array(block * dim);
  for (let head = 0; head < HEADS; head++) {
    decodeTokens(plan, page, head, 0, block, decoded);
    const perRow = alongTokens ? dim : dim / size;
    for (let group = 0; group < (block * dim) / size; group++) {
      const row = Math.floor(group / perRow);
      const column = group % perRow;
      const place = (i: number) =>
        alongTokens ? ([row * size + i, column] as const) : ([row, column * size + i] as const);
      const elements = Float32Array.from({ length: size }, (_v, i) => {
        const [token, channel] = place(i);
        return at(token, head, channel);
      });
      const bytes = new Uint8Array(codec.groupBytes);
      codec.encodeGroup(elements, bytes);
      const first = head * headBytes + group * codec.groupBytes;
      expect(page.subarray(first, first + codec.groupBytes)).toEqual(bytes);
      const back = new Float32Array(size);
      codec.decodeGroup(bytes, back);
      for (const [i, value] of back.entries()) {
        const [token, channel] = place(i);
        expect(decoded[token * dim + channel]).toBe(value);
      }
    }
  }
});

test('a run of tokens that begins and ends inside groups', () => {
  const plan = codedPlan({ along: 'tokens', size: 8 }, 3, 24);
  const page = new Uint8Array(plan.layout.pageBytes);
  encodeTokens(plan, normalBits(24 * HEADS * 3, 5), 24, null, page, 0);
  const all = new Float32Array(24 * 3);
  decodeTokens(plan, page, 1, 0, 24, all);
  const part = new Float32Array(13 * 3 + 2).fill(9);
  decodeTokens(plan, page, 1, 6, 13, part, 1);
  expect(part.subarray(1, -1)).toEqual(all.subarray(6 * 3, 19 * 3));
  expect([part[0], part.at(-1)]).toEqual([9, 9]);
});

test('a codec sees what the transforms leave', () => {
  const seen: number[][] = [];
  const plan = codedPlan({ along: 'channels', size: 8 }, 8, 1, {
    scheme: { transforms: [{ kind: 'hadamard' }] },
    codec: { encodeGroup: (values) => void seen.push([...values]) },
  });
  const tokens = new Uint16Array(HEADS * 8);
  tokens[0] = 0x4400;
  encodeTokens(plan, tokens, 1, null, new Uint8Array(plan.layout.pageBytes), 0);
  const spread = Math.fround(4 * Math.fround(1 / Math.sqrt(8)));
  expect(seen).toEqual([Array(8).fill(spread), Array(8).fill(0)]);
});

test('a codec that throws is an error that names it', () => {
  const broken = () => {
    throw new RangeError('no such code');
  };
  const plan = codedPlan({ along: 'channels', size: 8 }, 8, 2, {
    codec: { encodeGroup: broken, decodeGroup: broken },
  });
  const page = new Uint8Array(plan.layout.pageBytes);
  for (const act of [
    () => encodeTokens(plan, new Uint16Array(32), 2, null, page, 0),
    () => decodeTokens(plan, page, 0, 0, 1, new Float32Array(8)),
  ]) {
    const error = refusal(act);
    expect(error.code).toBe('CODEC_INVALID');
    expect(error.message).toContain('shared-exponent-8');
    expect(error.message).toContain('no such code');
    expect(error.cause).toBeInstanceOf(RangeError);
  }
  const invalid = refusal(() => validatePage(plan, page, 1, 4));
  expect(invalid.code).toBe('BLOCK_INVALID');
  expect(invalid.where).toEqual({ tensor: 'key', layer: 4, head: 0 });
});

test('a page that a codec decodes to something not finite is refused', () => {
  const plan = codedPlan({ along: 'channels', size: 8 }, 16, 3, {
    codec: {
      decodeGroup: (bytes, values) => void values.fill(bytes[0] === 0 ? 0 : Number.NaN),
    },
  });
  const page = new Uint8Array(plan.layout.pageBytes);
  expect(() => validatePage(plan, page, 3)).not.toThrow();
  // Head 1, token 2, group 1.
  page[plan.layout.headBytes + 5 * plan.layout.codes.rowBytes] = 1;
  const error = refusal(() => validatePage(plan, page, 3));
  expect(error.where).toEqual({ tensor: 'key', head: 1, slot: 2, channel: 8 });
  expect(refusal(() => validatePage(plan, page, 2)).message).toContain('no valid token');
});

test('a plan that went through JSON has lost its codec', () => {
  const { codec: _, ...plan } = codedPlan({ along: 'channels', size: 8 }, 8, 1);
  const page = new Uint8Array(plan.layout.pageBytes);
  const error = refusal(() => encodeTokens(plan, new Uint16Array(16), 1, null, page, 0));
  expect(error.code).toBe('CODEC_MISSING');
});
