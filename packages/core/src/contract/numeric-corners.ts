/**
 * Keys and values at the corners of the arithmetic, stored by both sides of a twin: equal blocks, equal decoded values.
 */

import { LowbitKvError } from '../errors.js';
import { f32ToF16 } from '../float16.js';
import { type ModelLayer, modelLayers } from '../plan/model-layers.js';
import { f16Tensor, type HostTensor } from '../tensor.js';
import { createDraws } from '../testing/draws.js';
import { ensureEqual, ensureRefused } from './check.js';
import { contents, ensureSameContents } from './contents.js';
import type { TwinCheck } from './life-cycle.js';
import type { Twin } from './twin.js';

/** f16 bits of element i of a tensor of corner data. */
type Corner = (i: number, draw: () => number) => number;

export const CORNERS: Readonly<Record<string, Corner>> = {
  'all zero': () => 0,
  'constant groups': () => f32ToF16(0.8125),
  'negative constant groups': () => f32ToF16(-1.3125),
  'zeros of both signs': (_, draw) => (draw() & 1) << 15,
  // Multiples of half a step of every width: codes fall half-way between integers.
  ties: (i, draw) => f32ToF16(((draw() % 31) - 15) / 16 + (i % 2 === 0 ? 0 : 1 / 32)),
  subnormals: (_, draw) => ((draw() & 1) << 15) | (draw() & 0x3ff),
  'one subnormal among zeros': (i) => (i % 29 === 0 ? 1 : 0),
  'values up to 30000': (_, draw) => f32ToF16((draw() - 2048) * 14.5),
  // Along tokens of 128 elements: 30000, -30000, small, small. The order of a sum decides which small ones count.
  'sums that cancel': (i, draw) =>
    f32ToF16([30000, -30000, draw() / 2 ** 22, draw() / 2 ** 22][(i >> 7) % 4] as number),
  'magnitudes far apart': (_, draw) => f32ToF16((draw() - 2048) / 2048 / 2 ** (draw() % 20)),
};

const TOKENS = 70;

export const numericCorners: readonly TwinCheck[] = Object.entries(CORNERS).map(
  ([name, corner]) => ({ name, run: (twin: Twin) => runCorner(twin, corner) }),
);

/** f16 `[tokens, heads, dim]` of corner data. */
export function cornerTensor(corner: Corner, shape: readonly number[], seed: number): HostTensor {
  const draw = createDraws(seed);
  const count = shape.reduce((product, size) => product * size, 1);
  return f16Tensor(
    Uint16Array.from({ length: count }, (_, i) => corner(i, draw)),
    shape,
  );
}

async function runCorner(twin: Twin, corner: Corner): Promise<void> {
  const pair = twin.createPair();
  const { kvHeads, keyHeadDim, valueHeadDim } = (modelLayers(twin.plan)[0] as ModelLayer).geometry;
  const key = cornerTensor(corner, [TOKENS, kvHeads, keyHeadDim], 11);
  const value = cornerTensor(corner, [TOKENS, kvHeads, valueHeadDim], 12);
  try {
    await twin.reference.append([{ sequence: pair.reference, tokens: TOKENS }], [{ key, value }]);
  } catch (error) {
    // More outliers than the scheme has room for: the backend must say so too.
    if (!LowbitKvError.is(error, 'OUTLIER_CAPACITY')) throw error;
    const append = () =>
      twin.subject.append([{ sequence: pair.subject, tokens: TOKENS }], [{ key, value }]);
    await ensureRefused(append, ['OUTLIER_CAPACITY'], 'too many outliers');
    ensureEqual(pair.subject.length, 0, 'length after a refused step');
    return;
  }
  await twin.subject.append([{ sequence: pair.subject, tokens: TOKENS }], [{ key, value }]);
  await twin.compareBlocks(pair);
  ensureSameContents(
    await contents(twin.subject, pair.subject),
    await contents(twin.reference, pair.reference),
    'corner data',
  );
}
