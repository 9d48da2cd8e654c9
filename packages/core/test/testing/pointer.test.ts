// Pointer data against the patterns and means written in the case files, and through the attention oracle.
import { describe, expect, it } from 'vitest';
import { decodeF16, f16ToF32, f32ToF16 } from '../../src/float16.js';
import {
  expectedMean,
  expectedPattern,
  inPointerUnits,
  maxAbsDifference,
  POINTER_FORMAT,
  pointerKeys,
  pointerValueId,
  pointerValues,
  pointingQuery,
  referenceAttention,
  tokenIdRange,
} from '../../src/testing/index.js';
import { caseIds, loadCase } from './load-case.js';

const TOLERANCE = 1e-12;

function expectMean(
  tokenIds: readonly number[],
  mean32: number[] | undefined,
  kvHead = 0,
  headDim = 64,
): void {
  const expected = Array.from(
    { length: headDim },
    (_, channel) => mean32?.[channel % 32] ?? Number.NaN,
  );
  expect(maxAbsDifference(expectedMean(tokenIds, { kvHead, headDim }), expected)).toBeLessThan(
    TOLERANCE,
  );
}

describe('pointer constants', () => {
  it('are those of every case file', () => {
    const cases = caseIds()
      .map((id) => ({
        id,
        data: loadCase<{ data?: Record<string, unknown> }, unknown>(id).input.data,
      }))
      .filter(({ data }) => data?.kind === 'pointer');
    expect(cases.length).toBeGreaterThan(8);
    for (const { data } of cases) {
      expect(data).toMatchObject({
        kBits: POINTER_FORMAT.keyBits,
        vBits: POINTER_FORMAT.valueBits,
        kAmp: POINTER_FORMAT.keyAmplitude,
        vAmp: POINTER_FORMAT.valueAmplitude,
        qAmp: POINTER_FORMAT.queryAmplitude,
      });
    }
  });

  it('leave f16 scales exact at 2, 3, 4 and 8 bits', () => {
    for (const amplitude of [POINTER_FORMAT.keyAmplitude, POINTER_FORMAT.valueAmplitude]) {
      expect(f16ToF32(f32ToF16(amplitude))).toBe(amplitude);
      for (const steps of [3, 7, 15, 255]) {
        const scale = (2 * amplitude) / steps;
        expect(f16ToF32(f32ToF16(scale))).toBe(scale);
      }
    }
  });
});

describe('pointer tensors', () => {
  it('write the bits of the ids as signs, tokens outermost', () => {
    const options = { tokenIds: [0b101, 3], kvHeads: 2, headDim: 34 };
    const keys = decodeF16(pointerKeys(options));
    const values = decodeF16(pointerValues({ ...options, batch: 1 }));
    const signs = (tensor: Float32Array, row: number, amplitude: number) =>
      [...tensor.subarray(row * 34, (row + 1) * 34)].map((value) => value / amplitude);
    const bitsOf = (id: number, period: number) =>
      Array.from({ length: 34 }, (_, channel) =>
        ((BigInt(id) >> BigInt(channel % period)) & 1n) === 1n ? 1 : -1,
      );
    [0b101, 0b101, 3, 3].forEach((id, row) => {
      expect(signs(keys, row, POINTER_FORMAT.keyAmplitude)).toEqual(bitsOf(id, 16));
      expect(signs(values, row, POINTER_FORMAT.valueAmplitude)).toEqual(
        bitsOf(id + (row % 2) * 2 ** 20 + 2 ** 26, 32),
      );
    });
    expect(keys).toHaveLength(4 * 34);
    expect(values).toHaveLength(4 * 34);
  });

  it('refuse ids that their bits cannot hold', () => {
    const refused = expect.objectContaining({ code: 'OPTION_INVALID' });
    expect(() => pointerKeys({ tokenIds: [65536], kvHeads: 1, headDim: 16 })).toThrow(refused);
    expect(() => pointerValues({ tokenIds: [1], kvHeads: 1, headDim: 16, batch: 64 })).toThrow(
      refused,
    );
    expect(() => pointingQuery([-1], 16)).toThrow(refused);
    expect(pointerValueId(5, 3, 63)).toBe(5 + 3 * 2 ** 20 + 63 * 2 ** 26);
    const wide = { ...POINTER_FORMAT, keyBits: 32, headStride: 2 ** 22 };
    expect(pointerValueId(2 ** 21 + 63, 7, 0, wide)).toBe(2 ** 21 + 63 + 7 * 2 ** 22);
  });
});

describe('expected answers of the case files', () => {
  it('shape-gqa-ratios: the sample pattern', () => {
    const { sample } = loadCase<
      unknown,
      {
        sample: { b: number; token: number; kvHead: number; pattern32: number[] };
      }
    >('shape-gqa-ratios').expected;
    const pattern = expectedPattern(sample.token, {
      kvHead: sample.kvHead,
      batch: sample.b,
      headDim: 64,
    });
    expect([...pattern]).toEqual([...sample.pattern32, ...sample.pattern32]);
  });

  it('shape-head-dims', () => {
    const { expected } = loadCase<
      unknown,
      Record<'zeroQueryMean32_head0' | 'zeroQueryMean32_kvHead1', number[]>
    >('shape-head-dims');
    for (const headDim of [40, 72, 576]) {
      expectMean(tokenIdRange(0, 130), expected.zeroQueryMean32_head0, 0, headDim);
      expectMean(tokenIdRange(0, 130), expected.zeroQueryMean32_kvHead1, 1, headDim);
    }
  });

  it('shape-sequence-lengths and shape-batch-mixed-lengths', () => {
    const lengths = loadCase<unknown, { zeroQueryMean32: Record<string, number[]> }>(
      'shape-sequence-lengths',
    ).expected;
    for (const [length, mean] of Object.entries(lengths.zeroQueryMean32))
      expectMean(tokenIdRange(0, Number(length)), mean);
    const mixed = loadCase<
      { lengths: number[] },
      { zeroQueryMean32_kvHead0: Record<string, number[]> }
    >('shape-batch-mixed-lengths');
    mixed.input.lengths.forEach((length, batch) => {
      const mean = expectedMean(tokenIdRange(0, length), { kvHead: 0, batch, headDim: 32 });
      expect(
        maxAbsDifference(mean, mixed.expected.zeroQueryMean32_kvHead0[batch] ?? []),
      ).toBeLessThan(TOLERANCE);
    });
  });

  it('cache-truncate-rollback', () => {
    const { input, expected } = loadCase<
      { ops: { op: 'append' | 'truncate'; count?: number; firstId?: number; length?: number }[] },
      {
        afterOps: {
          length: number;
          firstIds: number[];
          lastIds: number[];
          zeroQueryMean32: number[];
        }[];
      }
    >('cache-truncate-rollback');
    let ids: number[] = [];
    input.ops.forEach(({ op, count = 0, firstId = 0, length = 0 }, i) => {
      ids = op === 'append' ? [...ids, ...tokenIdRange(firstId, count)] : ids.slice(0, length);
      const after = expected.afterOps[i];
      expect([ids.length, ids.slice(0, 3), ids.slice(-3)]).toEqual([
        after?.length,
        after?.firstIds,
        after?.lastIds,
      ]);
      expectMean(ids, after?.zeroQueryMean32);
    });
  });

  it('cache-beam-reorder, cache-fork-copy-on-write, cache-reset-no-leak and cache-sliding-window-eviction', () => {
    const beams = loadCase<unknown, { zeroQueryMean32: Record<string, number[]> }>(
      'cache-beam-reorder',
    ).expected.zeroQueryMean32;
    expectMean([...tokenIdRange(0, 70), ...tokenIdRange(5100, 3), 6000], beams.beam0);
    expectMean([...tokenIdRange(0, 70), ...tokenIdRange(5100, 3), 6001], beams.beam1);
    expectMean([...tokenIdRange(0, 70), ...tokenIdRange(5200, 3), 6002], beams.beam2);

    const fork = loadCase<unknown, Record<string, number[]>>('cache-fork-copy-on-write').expected;
    const child = [...tokenIdRange(0, 40), ...tokenIdRange(2000, 5)];
    expectMean([...tokenIdRange(0, 40), ...tokenIdRange(1000, 30)], fork.parentBeforeTruncate);
    expectMean(child, fork.child);
    expectMean([...child, ...tokenIdRange(3000, 100)], fork.grandchild);
    expectMean(tokenIdRange(0, 10), fork.parentAfterTruncate);

    const reset = loadCase<unknown, { zeroQueryMean32: number[] }>('cache-reset-no-leak').expected;
    expectMean(tokenIdRange(9000, 10), reset.zeroQueryMean32);
    const window = loadCase<unknown, { zeroQueryMean32_at300: number[] }>(
      'cache-sliding-window-eviction',
    ).expected;
    expectMean([...tokenIdRange(0, 4), ...tokenIdRange(236, 64)], window.zeroQueryMean32_at300);
  });

  it('cache-empty-past-first-step', () => {
    const { expected } = loadCase<unknown, { lengths: number[]; zeroQueryMean32: number[][] }>(
      'cache-empty-past-first-step',
    );
    for (const [step, length] of expected.lengths.entries()) {
      expectMean(tokenIdRange(0, length), expected.zeroQueryMean32[step]);
    }
  });
});

describe('pointer data through attention', () => {
  const { input, expected } = loadCase<
    { ratios_HqHk: [number, number][]; shape: { B: number; T: number; D: number } },
    { tolerance: number }
  >('shape-gqa-ratios');
  const { B, T, D } = input.shape;

  it.each(input.ratios_HqHk)(
    '%i query heads on %i kv heads return the pointed pattern and the mean',
    (queryHeads, kvHeads) => {
      const tokenIds = tokenIdRange(0, T);
      const targets = Array.from({ length: queryHeads }, (_, head) => (11 * head + 5) % T);
      for (let batch = 0; batch < B; batch++) {
        const dense = {
          keys: decodeF16(pointerKeys({ tokenIds, kvHeads, headDim: D })),
          values: decodeF16(pointerValues({ tokenIds, kvHeads, headDim: D, batch })),
          tokens: T,
          queryTokens: 1,
          queryHeads,
          kvHeads,
          keyDim: D,
          valueDim: D,
          scale: 1 / Math.sqrt(D),
        };
        const pointed = referenceAttention({
          ...dense,
          queries: decodeF16(pointingQuery(targets, D)),
        });
        const zero = referenceAttention({
          ...dense,
          queries: decodeF16(
            pointingQuery(
              targets.map(() => null),
              D,
            ),
          ),
        });
        const place = (head: number) => ({
          kvHead: Math.floor(head / (queryHeads / kvHeads)),
          batch,
          headDim: D,
        });
        const patterns = targets.flatMap((target, head) => [
          ...expectedPattern(target, place(head)),
        ]);
        const means = targets.flatMap((_, head) => [...expectedMean(tokenIds, place(head))]);
        expect(maxAbsDifference(inPointerUnits(pointed.output), patterns)).toBeLessThan(
          expected.tolerance,
        );
        expect(maxAbsDifference(inPointerUnits(zero.output), means)).toBeLessThan(TOLERANCE);
      }
    },
  );
});
