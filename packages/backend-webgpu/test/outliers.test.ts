// Outliers and keys before the rotary embedding where the plans of the contract do not go: room that runs out in the middle of a
// sequence, wide fields of planes, NaN, drawn combinations.
import {
  createPlan,
  f16Tensor,
  type Geometry,
  type HostTensor,
  type LayerPlan,
  LowbitKvError,
  type Plan,
  type QuantizedTensorScheme,
} from '@lowbit-kv/core';
import {
  createTwin,
  F32_ATTENTION,
  type Pair,
  type Twin,
  type TwinOptions,
} from '@lowbit-kv/core/contract';
import {
  asymmetric,
  bands,
  createDraws,
  hybrid,
  inlineCalibration,
  inlineScheme,
  lcgNormal,
  type SchemeParts,
  symmetric,
  withTop,
} from '@lowbit-kv/core/testing';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { swiftShaderDevice } from './support/swiftshader.js';

vi.setConfig({ testTimeout: 120_000 });

const device = await swiftShaderDevice();
afterAll(() => device.destroy());
const backend = webgpuBackend({ device });
const window = { recent: 4, flush: 4 };
const GEOMETRY: Geometry = {
  layers: 1,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 64,
  valueHeadDim: 64,
};

function planOf(parts: SchemeParts, change: Partial<Geometry> = {}, blockTokens = 32): Plan {
  const geometry = { ...GEOMETRY, ...change };
  const scheme = inlineScheme(parts);
  const calibration = inlineCalibration(scheme, geometry);
  const plan = createPlan(scheme, geometry, {
    blockTokens,
    ...(calibration === undefined ? {} : { calibration }),
  });
  expect(backend.supports(plan)).toEqual({ kind: 'native' });
  return plan;
}

async function onTwin(
  plan: Plan,
  run: (twin: Twin, pair: Pair) => Promise<void>,
  options: TwinOptions = {},
): Promise<void> {
  const twin = await createTwin(plan, backend, { tolerances: F32_ATTENTION, ...options });
  try {
    await run(twin, twin.createPair());
  } finally {
    twin.dispose();
  }
}

/** f16 `[tokens, heads, dim]` of a normal distribution. */
function normal(plan: Plan, tensor: 'key' | 'value', tokens: number, seed: number): HostTensor {
  const { heads, headDim } = (plan.layers[0] as LayerPlan)[tensor];
  const shape = [tokens, heads, headDim];
  return f16Tensor(lcgNormal({ seed, shape, dtype: 'f16' }), shape);
}

/** Steps of many tokens and of one, a cut inside a block, and what follows it. */
async function program(twin: Twin, pair: Pair): Promise<void> {
  await twin.step([{ pair, tokens: 45 }]);
  await twin.step([{ pair, tokens: 1 }]);
  await twin.step([{ pair, tokens: 9 }]);
  expect(await twin.compareBlocks(pair)).toBeGreaterThan(0);
  twin.truncate(pair, 38);
  await twin.step([{ pair, tokens: 12 }]);
  await twin.attend([pair], [3]);
  await twin.compareBlocks(pair);
}

describe('room for outliers', () => {
  const plan = planOf({
    key: bands('midRise', 'head', 24, window),
    value: bands('uniform', 'allHeads', 24, window),
  });

  async function refused(
    twin: Twin,
    pair: Pair,
    tensor: 'key' | 'value',
    head: number,
  ): Promise<void> {
    const loud = normal(plan, tensor, 24, 77);
    // The other head keeps to the middle band.
    const data = (loud.data as Uint16Array).map((bits, i) =>
      Math.floor(i / 64) % 2 === head ? (bits & 0x8000) | 0x5000 : 0x3400,
    );
    const quiet = { key: normal(plan, 'key', 24, 5), value: normal(plan, 'value', 24, 6) };
    const layers = [{ ...quiet, [tensor]: f16Tensor(data, [24, 2, 64]) }];
    const before = pair.subject.length;
    const errors = [];
    for (const side of ['reference', 'subject'] as const) {
      const error = await twin[side].append([{ sequence: pair[side], tokens: 24 }], layers).then(
        () => null,
        (caught: unknown) => caught,
      );
      expect(error).toBeInstanceOf(LowbitKvError);
      errors.push(error as LowbitKvError);
      expect(pair[side].length).toBe(before);
    }
    const [wanted, actual] = errors.map(({ code, summary, value, valid, next }) => {
      return { code, summary, value, valid, next };
    });
    expect(wanted?.code).toBe('OUTLIER_CAPACITY');
    expect(actual).toEqual(wanted);
    expect(errors.map(({ where }) => where)).toEqual([
      { tensor, head },
      { tensor, head, layer: 0 },
    ]);
  }

  it('that runs out stores nothing, and the sequence goes on', async () => {
    await onTwin(plan, async (twin, pair) => {
      await refused(twin, pair, 'key', 0);
      await twin.step([{ pair, tokens: 21 }]);
      await refused(twin, pair, 'value', 1);
      await refused(twin, pair, 'key', 1);
      expect(await twin.compareBlocks(pair)).toBeGreaterThan(0);
      await twin.attend([pair], [2]);
      await twin.step([{ pair, tokens: 30 }]);
      await twin.compareBlocks(pair);
    });
  });
});

it('end offsets of 32 bits and channels of 16', async () => {
  const plan = planOf(
    {
      key: bands('uniform', 'head', 64, window),
      value: withTop(symmetric(4, 'full', 'channels', 24, window), 3),
    },
    { queryHeads: 1, kvHeads: 1, valueHeadDim: 264 },
    1024,
  );
  const [layer] = plan.layers;
  expect(layer?.key.layout?.sparse?.endOffsets.entryBytes).toBe(4);
  expect(layer?.value.layout?.top?.channels.entryBytes).toBe(2);
  await onTwin(plan, program);
});

it('all channels of a token as outliers', async () => {
  await onTwin(
    planOf(
      {
        key: withTop(asymmetric(2, 'tokens', 8, { recent: 0, flush: 8 }), 16),
        value: withTop(hybrid(2, 'full', 2, 'symmetric', 'channels', 16, window), 16),
      },
      { keyHeadDim: 16, valueHeadDim: 16 },
    ),
    program,
  );
});

it('masked NaN is no top outlier while there are numbers, and the last one is stored as 0', async () => {
  const plan = planOf(
    {
      key: withTop(symmetric(3, 'signmag', 'channels', 16, { recent: 0, flush: 1 }), 2),
      value: withTop(asymmetric(4, 'channels', 16, { recent: 0, flush: 1 }), 16),
    },
    { keyHeadDim: 16, valueHeadDim: 16 },
  );
  await onTwin(
    plan,
    async (twin, pair) => {
      const withNaN = (tensor: 'key' | 'value') => {
        const { data, shape } = normal(plan, tensor, 20, 3);
        return f16Tensor(
          (data as Uint16Array).map((bits, i) => (i % 13 === 0 ? 0x7e01 : bits)),
          shape,
        );
      };
      await twin.append(pair, withNaN('key'), withNaN('value'));
      expect(await twin.compareBlocks(pair)).toBeGreaterThan(0);
    },
    { nonFinite: 'mask' },
  );
});

/** Where the angle of a small position is that of one far away. */
const FAR = [131_071.5, 8191.25, 3, 0.5];

const DRAWN = Array.from({ length: 6 }, (_, i) => i);

it.each(DRAWN)('a drawn plan, number %i', async (number) => {
  const draw = createDraws(1000 + number);
  const pick = <T>(values: readonly T[]): T => values[draw() % values.length] as T;
  const drawn = (): QuantizedTensorScheme => {
    const size = pick([8, 16]);
    const groups = pick([
      asymmetric(pick([2, 3, 4]), 'channels', size, window),
      symmetric(pick([3, 4, 8]), pick(['signmag', 'full', 'fullSigned']), 'tokens', size, {
        recent: 3,
        flush: size,
      }),
      hybrid(2, 'full', 2, pick(['symmetric', 'asymmetric']), 'channels', size, window),
    ]);
    const outliers = pick(['bands', 'bands', 'top', 'top', 'none']);
    const tensor =
      outliers === 'bands'
        ? bands(pick(['midRise', 'uniform']), pick(['head', 'allHeads']), 64, window)
        : outliers === 'top'
          ? withTop(groups, 1 + (draw() % 6))
          : groups;
    const transforms = pick([
      [],
      [
        { kind: 'channelMean', scope: 'model' },
        { kind: 'channelScale', scope: 'model' },
      ],
      [{ kind: 'channelOrder', scope: 'model' }],
      [{ kind: 'tensorScale', scope: 'model' }],
    ]) as QuantizedTensorScheme['transforms'] & object;
    return transforms.length === 0 ? tensor : { ...tensor, transforms };
  };
  const preRope = pick([true, false]);
  const key = { ...drawn(), ...(preRope ? { stage: 'pre-rope' as const } : {}) };
  const parts: SchemeParts = {
    key,
    value: drawn(),
    sinks: draw() % 4,
    packing: pick(['before-attention', 'after-attention']),
  };
  const [keyHeadDim, valueHeadDim] = [pick([48, 64, 80]), pick([48, 80, 144])];
  const rotary = { pairs: pick(['halves', 'adjacent'] as const), frequencies: FAR };
  const kvHeads = pick([1, 2, 3]);
  await onTwin(
    planOf(parts, {
      queryHeads: kvHeads * pick([1, 2, 5]),
      kvHeads,
      keyHeadDim,
      valueHeadDim,
      rotary,
    }),
    program,
  );
});
