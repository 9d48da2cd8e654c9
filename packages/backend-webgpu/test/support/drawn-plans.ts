/**
 * Plans drawn at random, each with a history of appends and cuts, and the comparison of their packed bytes with the
 * reference's.
 */
import {
  type Backend,
  createPlan,
  f16Tensor,
  type HostTensor,
  LowbitKvError,
  type Plan,
  type QuantizedTensorScheme,
  type TensorScheme,
  type Transform,
} from '@lowbit-kv/core';
import { createTwin } from '@lowbit-kv/core/contract';
import {
  asymmetric,
  createDraws,
  hybrid,
  inlineCalibration,
  inlineScheme,
  lcgNormal,
  levelTable,
  symmetric,
  withTypes,
} from '@lowbit-kv/core/testing';
import fc from 'fast-check';
import { webgpuBackend } from '../../src/index.js';
import { swiftShaderDevice } from './swiftshader.js';

export interface DrawnCase {
  readonly plan: Plan;
  readonly seed: number;
  /** Tokens of each append; a negative number cuts that many. */
  readonly history: readonly number[];
}

const along = fc.constantFrom('tokens' as const, 'channels' as const);
const size = fc.constantFrom(8, 16, 32);
const bits = fc.constantFrom(1 as const, 2 as const, 3 as const, 4 as const, 8 as const);
const wide = fc.constantFrom(2 as const, 3 as const, 4 as const, 8 as const);
const measuredOn = fc.constantFrom(16, 24, 32);

const uniform: fc.Arbitrary<QuantizedTensorScheme> = fc.oneof(
  fc.tuple(bits, along, size).map(([b, a, s]) => asymmetric(b, a, s)),
  fc
    .tuple(bits, fc.constantFrom('full' as const, 'fullSigned' as const), along, size)
    .map(([b, codes, a, s]) => symmetric(b, codes, a, s)),
  fc.tuple(wide, along, size).map(([b, a, s]) => symmetric(b, 'signmag', a, s)),
  fc
    .tuple(
      wide,
      fc.constantFrom('signmag' as const, 'full' as const),
      fc.integer({ min: 0, max: 1 }),
      fc.constantFrom('symmetric' as const, 'asymmetric' as const),
      along,
      size,
    )
    .map(([b, codes, less, tie, a, s]) => hybrid(b, codes, b - less, tie, a, s)),
  fc
    .tuple(
      fc.uniqueArray(fc.integer({ min: -40, max: 40 }), { minLength: 3, maxLength: 8 }),
      fc.constantFrom('absoluteMaximum' as const, 'rootMeanSquare' as const),
      along,
      size,
    )
    .filter(([levels]) => levels.some((level) => level > 0))
    .map(([levels, scaledBy, a, s]) =>
      levelTable(
        3,
        { levels: levels.sort((x, y) => x - y).map((level) => level / 16), scaledBy },
        a,
        s,
      ),
    ),
);

const transform: fc.Arbitrary<Transform> = fc.oneof(
  fc.nat({ max: 1000 }).map((seed) => ({ kind: 'hadamard', seed }) as const),
  measuredOn.map(
    (statisticsTokens) => ({ kind: 'channelMean', scope: 'sequence', statisticsTokens }) as const,
  ),
  measuredOn.map(
    (statisticsTokens) =>
      ({
        kind: 'channelScale',
        scope: 'sequence',
        statistic: 'rootAbsoluteMaximum',
        statisticsTokens,
        clamp: [2 ** -6, 2 ** 6],
        minimumSpread: 1,
      }) as const,
  ),
);

/** What attention may meet in integers. */
const reducible: fc.Arbitrary<QuantizedTensorScheme> = fc
  .tuple(
    wide,
    along,
    fc.constantFrom(32, 64, 128),
    fc.constantFrom('uniform', 'full', 'fullSigned', 'signmag'),
  )
  .map(([b, a, s, codes]) =>
    codes === 'uniform' ? asymmetric(b, a, s) : symmetric(b, codes, a, s),
  );

const types = fc.option(fc.nat({ max: 1000 }), { freq: 1 });

const tensorOf = (
  quantized: fc.Arbitrary<QuantizedTensorScheme>,
  typesOf: fc.Arbitrary<number | null>,
): fc.Arbitrary<TensorScheme> =>
  fc
    .tuple(
      quantized,
      typesOf,
      fc.array(transform, { maxLength: 2 }),
      fc.integer({ min: 0, max: 20 }),
      fc.integer({ min: 1, max: 2 }),
    )
    .map(([drawn, drawnTypes, transforms, recent, times]) => {
      const typed = drawnTypes === null ? drawn : withTypes(drawn, drawnTypes);
      const window = { recent, flush: drawn.window.flush * times };
      return { ...typed, window, ...(transforms.length > 0 && { transforms }) };
    });

const tensor: fc.Arbitrary<TensorScheme> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ bits: 16 } as const) },
  { weight: 12, arbitrary: tensorOf(uniform, types) },
);

const history = fc
  .array(fc.oneof(fc.integer({ min: 1, max: 90 }), fc.constantFrom(1, 1, 64, -1, -40)), {
    minLength: 2,
    maxLength: 5,
  })
  .map((steps) => [70, ...steps]);

const rest = {
  sinks: fc.integer({ min: 0, max: 6 }),
  heads: fc.constantFrom(1, 2, 3),
  seed: fc.nat({ max: 1 << 20 }),
  history,
};

const drawn = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      key: tensor,
      value: tensor,
      keyHeadDim: fc.constantFrom(32, 64, 128),
      valueHeadDim: fc.constantFrom(32, 64),
      blockTokens: fc.constant(64),
      ...rest,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      key: tensorOf(reducible, fc.constant(null)),
      value: tensorOf(reducible, fc.constant(null)),
      keyHeadDim: fc.constant(128),
      valueHeadDim: fc.constant(128),
      blockTokens: fc.constant(128),
      ...rest,
    }),
  },
);

/** Only plans that `createPlan` accepts and that pack something. */
export function drawnCases(backend: Pick<Backend, 'supports'>): fc.Arbitrary<DrawnCase> {
  return drawn
    .map(({ key, value, sinks, heads, blockTokens, ...others }): DrawnCase | null => {
      const { keyHeadDim, valueHeadDim, ...run } = others;
      const geometry = { layers: 1, queryHeads: heads, kvHeads: heads, keyHeadDim, valueHeadDim };
      const scheme = inlineScheme({ key, value, sinks });
      try {
        const calibration = inlineCalibration(scheme, geometry);
        const plan = createPlan(scheme, geometry, {
          blockTokens,
          ...(calibration === undefined ? {} : { calibration }),
        });
        return { plan, ...run };
      } catch (error) {
        // A combination that no scheme may have.
        if (LowbitKvError.is(error)) return null;
        throw error;
      }
    })
    .filter(
      (one): one is DrawnCase => one !== null && backend.supports(one.plan).kind === 'native',
    );
}

/** Runs the history on the reference and the backend; returns how many blocks were compared. */
export async function comparePacked(
  { plan, seed, history: steps }: DrawnCase,
  backend: Backend,
): Promise<number> {
  const twin = await createTwin(plan, backend);
  const [geometry] = plan.layers.map((layer) => layer.geometry);
  if (geometry === undefined) throw new TypeError('a plan has a layer');
  const { kvHeads, keyHeadDim, valueHeadDim } = geometry;
  try {
    const pair = twin.createPair();
    let blocks = 0;
    for (const [i, step] of steps.entries()) {
      const length = pair.subject.length;
      if (step < 0) twin.truncate(pair, Math.max(0, length + step));
      else {
        const rows = (part: number, dim: number) =>
          rowsOf(seed + 2 * i + part, [step, kvHeads, dim]);
        await twin.append(pair, rows(0, keyHeadDim), rows(1, valueHeadDim));
      }
      blocks += await twin.compareBlocks(pair);
    }
    return blocks;
  } finally {
    twin.dispose();
  }
}

/** Normal numbers, and every fourth tensor multiples of 1/16, where codes lie half-way between integers. */
function rowsOf(seed: number, shape: readonly number[]): HostTensor {
  if (seed % 4 !== 0) return f16Tensor(lcgNormal({ seed, shape, dtype: 'f16' }), shape);
  const draw = createDraws(seed);
  const count = shape.reduce((product, extent) => product * extent, 1);
  // f16 bits of n/16 + 1 for n in 0..15: ten bits of fraction, the upper four of them drawn; both signs.
  const data = Uint16Array.from({ length: count }, () => {
    const bits16 = draw();
    return ((bits16 & 1) << 15) | 0x3c00 | (((bits16 >> 1) & 15) << 6);
  });
  return f16Tensor(data, shape);
}

export async function packingDevice(): Promise<GPUDevice> {
  return withoutAttention(await swiftShaderDevice());
}

/** Keeps codes in the order of integer attention where a plan has one. */
export function packingBackend(device: GPUDevice): Backend {
  return webgpuBackend({
    device,
    wgslLanguageFeatures: new Set(['packed_4x8_integer_dot_product']),
  });
}

/** A device whose kernels of attention are never made: what is only packed needs none, and they take longest. */
export function withoutAttention(device: GPUDevice): GPUDevice {
  const create = device.createComputePipelineAsync.bind(device);
  device.createComputePipelineAsync = async (descriptor) =>
    ['attend', 'merge', 'prepareQuery'].includes(descriptor.label ?? '')
      ? ({} as GPUComputePipeline)
      : create(descriptor);
  return device;
}
