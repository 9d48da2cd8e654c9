/**
 * What a scheme makes of values: errors that its bits allow, data on its grid kept to the bit, ties to even, and the corners
 * of f16.
 */

import { LowbitKvError } from '../errors.js';
import { f32ToF16 } from '../float16.js';
import { roundHalfEven } from '../law/scale.js';
import type { Plan, TensorPlan } from '../plan/plan.js';
import { lcgGrid } from '../testing/grid.js';
import { relativeError } from '../testing/metrics.js';
import {
  type ContractCheck,
  ContractSkip,
  check,
  ensure,
  ensureEqual,
  ensureSame,
} from './check.js';
import { contents, ensureSameContents } from './contents.js';
import { boundedScheme, errorBounds } from './group-bounds.js';
import { CORNERS, cornerTensor } from './numeric-corners.js';
import { placeOf } from './scheme-data.js';
import {
  countsOf,
  decodedTensors,
  grow,
  normalSource,
  openCache,
  type RowSource,
  rowsOf,
  runLength,
} from './scheme-run.js';

const RELATIVE_ERROR: Readonly<Record<number, number>> = {
  1: 2,
  2: 0.95,
  3: 0.5,
  4: 0.25,
  8: 0.02,
};
/** Distance of grid values and of the half-way values between them. */
const STEP = 2 ** -4;
const HALF_STEP = STEP / 2;

export function valueChecks(
  planOf: () => Promise<Plan>,
  limits: { readonly key: number; readonly value: number } | undefined,
): ContractCheck[] {
  return [
    check('the error of packed values is what their bits allow', async () => {
      await normalError(await planOf(), limits);
    }),
    check('values on the grid come back to the bit, ties go to even', async () => {
      await gridAndTies(await planOf());
    }),
    ...Object.entries(CORNERS).map(([name, corner]) =>
      check(`corner: ${name}`, async () => {
        const source: RowSource = (tensor, layer, tokens) =>
          cornerTensor(corner, [tokens, tensor.heads, tensor.headDim], 5 + placeOf(tensor, layer))
            .data as Uint16Array;
        await corners(await planOf(), source);
      }),
    ),
  ];
}

async function normalError(
  plan: Plan,
  limits: { readonly key: number; readonly value: number } | undefined,
): Promise<void> {
  for (const run of await storedRun(plan, normalSource())) {
    const { plan: tensor, layer, decoded, original, first, end } = run;
    const what = `${tensor.tensor}s of layer ${layer}`;
    if (tensor.scheme.bits === 16) {
      ensureSame(decoded, original, `f16 ${what}`);
      continue;
    }
    const [actual, expected] = [decoded.subarray(first, end), original.subarray(first, end)];
    const error = relativeError(actual, expected);
    const limit = limits?.[tensor.tensor] ?? (RELATIVE_ERROR[tensor.scheme.bits] as number);
    ensure(error <= limit, `relative error ${error} of ${what} is above ${limit}`);
    const alike = cosine(actual, expected);
    ensure(alike >= 0.5, `cosine ${alike} of ${what} with the original is below 0.5`);
    ensure(error > 0, `${what} claim ${tensor.scheme.bits} bits and lost nothing`);
    checkBounds(run);
  }
}

/** On a grid of half steps: every second value is a level, and those between are ties. */
async function gridAndTies(plan: Plan): Promise<void> {
  let checked = 0;
  const source: RowSource = (tensor, layer, tokens) => {
    const span = gridSpan(tensor);
    return span === null
      ? normalSource()(tensor, layer, tokens)
      : gridRows(plan, tensor, layer, tokens, span);
  };
  for (const { plan: tensor, layer, decoded, original, first, end } of await storedRun(
    plan,
    source,
  )) {
    const span = gridSpan(tensor);
    if (span === null || first === end) continue;
    const expected = original.subarray(first, end).map((value) => expectedLevel(value, span));
    ensureSame(
      decoded.subarray(first, end).map(unsigned),
      expected.map(unsigned),
      `${tensor.tensor}s of layer ${layer}`,
    );
    checked++;
  }
  if (checked === 0)
    throw new ContractSkip(
      'no tensor of this scheme promises to keep a grid: hybrid, a table, transformed or with outliers',
    );
}

interface GridSpan {
  /** Codes from `lowest` to `highest` stand for `code * STEP`; the group spans codes `lowest` to `top`. */
  readonly lowest: number;
  readonly highest: number;
  readonly top: number;
  /** The value of the code that counts as zero when ties go to even: the minimum of an asymmetric group. */
  readonly zero: number;
}

/** What values a group has to span for its step to be `STEP`; null when the scheme promises no grid. */
function gridSpan(tensor: TensorPlan): GridSpan | null {
  const scheme = boundedScheme(tensor);
  if (scheme === null || scheme.quantizer.mode === 'hybrid') return null;
  const { bits, quantizer, parameters, outliers } = scheme;
  // Outliers change the range of what is left; an f32 scale is the inexact product itself.
  if (typeof quantizer.codes === 'object' || outliers !== undefined || parameters.scale === 'f32')
    return null;
  if (quantizer.mode === 'asymmetric') {
    const lowest = -(2 ** (bits - 1));
    const highest = lowest + 2 ** bits - 1;
    return { lowest, highest, top: highest, zero: lowest };
  }
  const half = 2 ** (bits - 1);
  if (quantizer.codes === 'signmag')
    return { lowest: 1 - half, highest: half - 1, top: half - 1, zero: 0 };
  return { lowest: -half, highest: half - 1, top: half, zero: 0 };
}

function expectedLevel(value: number, { highest, zero }: GridSpan): number {
  const code = roundHalfEven(value / STEP - zero) + zero;
  return Math.min(code, highest) * STEP;
}

/** After the sinks, grid data in groups that begin where the packed tokens begin. */
function gridRows(
  plan: Plan,
  tensor: TensorPlan,
  layer: number,
  tokens: number,
  { lowest, top }: GridSpan,
): Uint16Array {
  const width = tensor.heads * tensor.headDim;
  const { sinks } = countsOf(plan, tensor, tokens);
  const scheme = boundedScheme(tensor);
  if (scheme === null) throw new Error('a tensor without a grid');
  const { groups } = scheme;
  const vector = groups.along === 'vector' && groups.scope === 'head' ? tensor.headDim : width;
  const { values } = lcgGrid({
    seed: 31 + placeOf(tensor, layer),
    shape: [tokens - sinks, width],
    dtype: 'f16',
    levels: 2 * (top - lowest) + 1,
    groupSize: groups.along === 'vector' ? vector : groups.size,
    groupAxis: groups.along === 'tokens' ? 0 : 1,
    lo: lowest * STEP,
    step: HALF_STEP,
  });
  const rows = new Uint16Array(tokens * width).fill(f32ToF16(0.5));
  rows.set(values, sinks * width);
  return rows;
}

/** Stored without a fault, finite, no further from the original than the bits allow, however split into steps. */
async function corners(plan: Plan, source: RowSource): Promise<void> {
  const cache = await openCache(plan);
  try {
    const length = runLength(plan);
    const rows = rowsOf(plan, length, source);
    const sequence = cache.createSequence();
    try {
      await grow(cache, sequence, rows, length);
    } catch (error) {
      // Such data is not what the bands were calibrated on: refusing it whole is right.
      if (!LowbitKvError.is(error, 'OUTLIER_CAPACITY')) throw error;
      ensureEqual(sequence.length, 0, 'length after a refused step');
      return;
    }
    for (const run of await decodedTensors(cache, sequence, rows)) checkBounds(run);
    const split = cache.createSequence();
    await grow(cache, split, rows, length, 29);
    ensureSameContents(
      await contents(cache, split),
      await contents(cache, sequence),
      'stored in pieces',
    );
  } finally {
    cache.dispose();
  }
}

type StoredTensor = Awaited<ReturnType<typeof decodedTensors>>[number];

/** A run in one step, decoded. */
async function storedRun(plan: Plan, source: RowSource): Promise<StoredTensor[]> {
  const cache = await openCache(plan);
  try {
    const length = runLength(plan);
    const rows = rowsOf(plan, length, source);
    const sequence = cache.createSequence();
    await grow(cache, sequence, rows, length);
    return await decodedTensors(cache, sequence, rows);
  } finally {
    cache.dispose();
  }
}

function checkBounds({ plan, layer, decoded, original, first, end }: StoredTensor): void {
  const what = `${plan.tensor}s of layer ${layer}`;
  ensureEqual(decoded.length, original.length, `elements of ${what}`);
  ensureSame(decoded.subarray(0, first), original.subarray(0, first), `f16 sinks of ${what}`);
  ensureSame(decoded.subarray(end), original.subarray(end), `f16 tail of ${what}`);
  const packed = original.subarray(first, end);
  const scheme = boundedScheme(plan);
  const bounds = scheme === null ? looseBounds(plan, packed) : errorBounds(plan, scheme, packed);
  for (const [i, value] of packed.entries()) {
    const error = Math.abs((decoded[first + i] as number) - value);
    if (error <= (bounds[i] as number)) continue;
    ensure(
      false,
      `element ${i} of the packed ${what} is ${decoded[first + i]}, was ${value}, may err by ${bounds[i]}`,
    );
  }
}

/** Where no bound per group is known: the error is finite and no larger than twice what the tensor holds at most. */
function looseBounds(plan: TensorPlan, packed: Float32Array): Float64Array {
  const largest = largestMagnitude(packed, calibratedReach(plan));
  return new Float64Array(packed.length).fill(2 * largest + 2 ** -13);
}

/** How far from zero calibrated values put what decodes, whatever the data are. */
function calibratedReach({ calibration, scheme }: TensorPlan): number {
  const { thresholds, channelMeans, channelFactors, tensorFactor = 1, levels } = calibration ?? {};
  const codes = scheme.bits === 16 ? null : scheme.quantizer.codes;
  const fixed = typeof codes === 'object' && codes?.scaledBy === 'none' ? (levels ?? []) : [];
  return (
    largestMagnitude(Object.values(thresholds ?? {})) +
    largestMagnitude(channelMeans?.flat() ?? []) +
    largestMagnitude(fixed) * tensorFactor * largestMagnitude(channelFactors?.flat() ?? [1])
  );
}

function largestMagnitude(values: Iterable<number>, least = 0): number {
  let largest = least;
  for (const value of values) largest = Math.max(largest, Math.abs(value));
  return largest;
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return ab / Math.sqrt(aa * bb);
}

/** -0 as +0: which of them a code of zero decodes to is not part of the promise. */
function unsigned(value: number): number {
  return value + 0;
}
