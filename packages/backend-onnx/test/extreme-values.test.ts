// What lies at the ends of number formats, against the reference: subnormal parameters, infinite values, ties of statistics.
import { encodeF16, f16Tensor, f32Tensor, type TensorScheme } from '@lowbit-kv/core';
import { expect, it } from 'vitest';
import { asymmetric, scheme, withParameters, withTop } from './support/schemes.js';
import { channelScale, HADAMARD, transformed } from './support/transforms.js';
import { createTwin, type Twin } from './support/twin.js';

const DIM = 32;
const F16: TensorScheme = { bits: 16 };

async function withTwin(
  key: TensorScheme,
  value: TensorScheme,
  body: (twin: Twin) => Promise<void>,
): Promise<void> {
  const geometry = { layers: 1, queryHeads: 1, kvHeads: 1, keyHeadDim: DIM, valueHeadDim: DIM };
  const options = { tokens: 128, sequences: 1, nonFinite: 'mask' } as const;
  const twin = await createTwin(scheme({ key, value }), geometry, options);
  try {
    await body(twin);
  } finally {
    twin.dispose();
  }
}

/** `[tokens, 1, DIM]` of f16. */
const tokensOf = (count: number, value: (token: number, channel: number) => number) =>
  f16Tensor(
    encodeF16(
      Float32Array.from({ length: count * DIM }, (_, i) => value(Math.floor(i / DIM), i % DIM)),
    ),
    [count, 1, DIM],
  );

/** Keys and values as the reference holds them; blocks of both sides are equal, and so is what attention makes of them. */
async function held(twin: Twin, tokens: ReturnType<typeof tokensOf>): Promise<number[]> {
  const pair = twin.createPair();
  await twin.append(pair, tokens, tokens);
  expect(await twin.compareBlocks(pair)).toBeGreaterThan(0);
  const query = f32Tensor(new Float32Array(DIM).fill(0.1), [1, 1, DIM]);
  const outputs: Float32Array[] = [];
  for (const side of ['reference', 'subject'] as const) {
    const result = await twin[side].attend(0, query, [pair[side]], { queries: [1] }).read();
    outputs.push(Float32Array.from(result.output.data));
  }
  const finite = [...outputs[0]!.entries()].filter(([, output]) => Number.isFinite(output));
  const largest = Math.max(...finite.map(([, output]) => Math.abs(output)));
  for (const [channel, expected] of finite)
    expect(Math.abs(outputs[1]![channel]! - expected) / largest).toBeLessThan(1e-5);
  return [...(await twin.reference.materialize(pair.reference, 0)).value.data];
}

it('zeros of groups may be subnormal', async () => {
  await withTwin(F16, asymmetric(4, 'channels', DIM), async (twin) => {
    const values = await held(
      twin,
      tokensOf(4, () => 3 * 2 ** -24),
    );
    expect(values).toEqual(Array(4 * DIM).fill(3 * 2 ** -24));
  });
});

it('E4M3 scales may be subnormal', async () => {
  const value = withParameters(asymmetric(4, 'channels', DIM), { scale: 'e4m3', zero: 'f16' });
  await withTwin(F16, value, async (twin) => {
    // 15 steps of 2/512 hold a range of 24/512.
    const values = await held(
      twin,
      tokensOf(4, (_, channel) => ((channel % 9) * 3) / 512),
    );
    expect(Math.max(...values)).toBeGreaterThan(0.03);
  });
});

it('an infinite value is no outlier that is kept apart', async () => {
  const value = withTop(asymmetric(4, 'channels', DIM), 1);
  await withTwin(F16, value, async (twin) => {
    const tokens = tokensOf(2, (token, channel) =>
      channel === 3 ? Number.POSITIVE_INFINITY : channel === 7 ? 100 + token : channel / 64,
    );
    const values = await held(twin, tokens);
    // The largest finite one is.
    expect([values[7], values[DIM + 7]]).toEqual([100, 101]);
  });
});

it('an infinite value does not reach queries that do not see it', async () => {
  const value = transformed(
    asymmetric(4, 'channels', DIM, { recent: 8, flush: 1 }),
    channelScale(4),
    HADAMARD,
  );
  for (const infinite of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    await withTwin(F16, value, async (twin) => {
      const pair = twin.createPair();
      const key = tokensOf(20, (token, channel) => Math.sin(token + channel));
      const values = tokensOf(20, (token, channel) =>
        token === 19 && channel === 5 ? infinite : Math.cos(token * channel),
      );
      await twin.append(pair, key, values);
      const query = f32Tensor(new Float32Array(2 * DIM).fill(0.1), [2, 1, DIM]);
      const outputs = await Promise.all(
        (['reference', 'subject'] as const).map(async (side) => {
          const result = await twin[side].attend(0, query, [pair[side]], { queries: [2] }).read();
          return Float32Array.from(result.output.data).slice(0, DIM);
        }),
      );
      expect(outputs[0]!.every(Number.isFinite)).toBe(true);
      for (const [channel, output] of outputs[1]!.entries())
        expect(output).toBeCloseTo(outputs[0]![channel]!, 5);
    });
  }
});
