/**
 * Random plans, geometries and histories: bytes are equal and attention agrees after every step.
 */
import type { QuantizedTensorScheme, Transform } from '@lowbit-kv/core';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { tables } from './support/codes.js';
import {
  asymmetric,
  bands,
  hybrid,
  scheme,
  symmetric,
  withTop,
  withTypes,
} from './support/schemes.js';
import { transformChain, transformed } from './support/transforms.js';
import { createTwin, type Pair } from './support/twin.js';

const RUNS = 50;

const along = fc.constantFrom('tokens' as const, 'channels' as const);
const size = fc.constantFrom(8, 16, 32);
const bits = fc.constantFrom(1 as const, 2 as const, 3 as const, 4 as const, 8 as const);

const quantized: fc.Arbitrary<QuantizedTensorScheme> = fc.oneof(
  fc.tuple(bits, along, size).map(([b, a, s]) => asymmetric(b, a, s)),
  fc
    .tuple(bits, fc.constantFrom('full' as const, 'fullSigned' as const), along, size)
    .map(([b, codes, a, s]) => symmetric(b, codes, a, s)),
  fc
    .tuple(fc.constantFrom(2 as const, 3 as const, 4 as const, 8 as const), along, size)
    .map(([b, a, s]) => symmetric(b, 'signmag', a, s)),
  fc
    .tuple(
      fc.constantFrom(2 as const, 3 as const, 4 as const, 8 as const),
      fc.constantFrom('signmag' as const, 'full' as const),
      fc.integer({ min: 0, max: 1 }),
      fc.constantFrom('symmetric' as const, 'asymmetric' as const),
      along,
      size,
    )
    .map(([b, codes, less, tie, a, s]) => hybrid(b, codes, b - less, tie, a, s)),
  fc
    .tuple(
      fc.constantFrom('midRise' as const, 'uniform' as const),
      fc.constantFrom('head' as const, 'allHeads' as const),
    )
    .map(([middle, scope]) => bands(middle, scope)),
  tables,
);

/** Any types of parameters, some outliers, any recent window, and a flush of whole groups. */
const windowed = fc
  .tuple(
    quantized,
    fc.integer({ min: 0, max: 20 }),
    fc.integer({ min: 1, max: 2 }),
    fc.option(fc.nat()),
    fc.option(fc.integer({ min: 1, max: 6 }), { freq: 2 }),
  )
  .map(([tensor, recent, times, types, top]) => {
    const typed = types === null ? tensor : withTypes(tensor, types);
    const sparse = top === null || typed.outliers !== undefined ? typed : withTop(typed, top);
    return { ...sparse, window: { recent, flush: tensor.window.flush * times } };
  });

/** A rotation needs a power of two of channels. */
function withTransforms(
  tensor: QuantizedTensorScheme,
  chain: readonly Transform[],
  headDim: number,
): QuantizedTensorScheme {
  const possible = chain.filter(({ kind }) => kind !== 'hadamard' || headDim !== 96);
  return possible.length === 0 ? tensor : transformed(tensor, ...possible);
}

const geometry = fc.record({
  layers: fc.constant(1),
  kvHeads: fc.integer({ min: 1, max: 3 }),
  group: fc.integer({ min: 1, max: 3 }),
  keyHeadDim: fc.constantFrom(32, 64, 96),
  valueHeadDim: fc.constantFrom(32, 64, 96),
  window: fc.option(
    fc.record({ size: fc.integer({ min: 1, max: 60 }), sinks: fc.integer({ min: 0, max: 5 }) }),
  ),
  softCap: fc.option(fc.constantFrom(1, 8, 30)),
});

/** A rotary embedding for keys that are cached before it. */
const preRope = fc.option(
  fc.record({
    pairs: fc.constantFrom('halves' as const, 'adjacent' as const),
    base: fc.constantFrom(100, 10_000),
    dimensions: fc.constantFrom(2, 20, 32),
  }),
);

type Action =
  | { readonly kind: 'step'; readonly tokens: readonly [number, number] }
  | { readonly kind: 'fork' }
  | { readonly kind: 'truncate'; readonly drop: number };

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('step' as const),
      tokens: fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 12 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fork' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('truncate' as const),
      drop: fc.integer({ min: 1, max: 12 }),
    }),
  },
);

describe('random histories', () => {
  it('agree with the reference', async () => {
    await fc.assert(
      fc.asyncProperty(
        windowed,
        windowed,
        fc.tuple(transformChain, transformChain),
        fc.integer({ min: 0, max: 6 }),
        fc.constantFrom('before-attention' as const, 'after-attention' as const),
        geometry,
        preRope,
        fc.array(action, { minLength: 2, maxLength: 8 }),
        async (keys, values, chains, sinks, packing, shape, rotary, actions) => {
          const { group, window, softCap, ...rest } = shape;
          const transformedKeys = withTransforms(keys, chains[0], shape.keyHeadDim);
          const key: QuantizedTensorScheme =
            rotary === null ? transformedKeys : { ...transformedKeys, stage: 'pre-rope' };
          const value = withTransforms(values, chains[1], shape.valueHeadDim);
          const twin = await createTwin(
            scheme({ key, value, sinks, packing }),
            {
              ...rest,
              queryHeads: rest.kvHeads * group,
              ...(window === null ? {} : { slidingWindow: window }),
              ...(softCap === null ? {} : { softCap }),
              ...(rotary === null ? {} : { rotary }),
            },
            { blockTokens: 32, tokens: 400, sequences: 6, rollback: window === null ? 0 : 12 },
          );
          try {
            let pairs: [Pair, Pair] = [twin.createPair(), twin.createPair()];
            for (const next of actions) {
              if (next.kind === 'step') {
                await twin.step(pairs.map((pair, i) => ({ pair, tokens: next.tokens[i] ?? 0 })));
              } else if (next.kind === 'fork') {
                pairs = [twin.fork(pairs[0]), pairs[0]];
              } else {
                // Behind a sliding window only the rollback can be taken back, and only once a step.
                const length = pairs[0].reference.length;
                if (window === null) twin.truncate(pairs[0], Math.max(0, length - next.drop));
              }
              for (const pair of pairs) await twin.compareBlocks(pair);
            }
          } finally {
            twin.dispose();
          }
        },
      ),
      { numRuns: RUNS, seed: 20240607 },
    );
  }, 120_000);
});
