/**
 * The table of one layer: which pairs of candidates it can be stored as, with exact errors.
 */
import type { Backend, Geometry, Pause } from '@lowbit-kv/core';
import type { CaptureData } from '../capture-data.js';
import { refusalOf } from '../refusals.js';
import type { LayerChoice } from './allocation.js';
import type { Candidate, TensorName, TuneWindows } from './candidates.js';
import { decodeCandidate } from './decode-candidate.js';
import { type DecodedTensor, type LayerProblem, pairErrors, singleErrors } from './layer-errors.js';

export interface TableContext {
  readonly data: CaptureData;
  readonly candidates: Readonly<Record<TensorName, readonly Candidate[]>>;
  readonly windows: TuneWindows;
  readonly geometry: Geometry;
  readonly backend: Backend;
  /** Bits of a layer that stores a pair. */
  readonly pairBits: (key: Candidate, value: Candidate) => number;
  /** The most bits one layer can have when the others take the fewest. */
  readonly mostBits: number;
}

export interface LayerTable {
  readonly choices: readonly LayerChoice[];
  /** Error with one tensor of each candidate alone; infinite where the layer cannot store it. */
  readonly alone: Readonly<Record<TensorName, readonly number[]>>;
}

/** Alone, a candidate may lose this much more than the best of at most its bits and still be tried in pairs. */
const ALONE_MARGIN = 1.1;
/**
 * A pair may lose this much more than the best of at most its bits, by the sum of its errors alone, and still be measured:
 * errors of keys and values add up almost, not quite.
 */
const PAIR_MARGIN = 1.25;

export async function layerTable(
  context: TableContext,
  place: number,
  exactOutput: Float64Array,
  pause: Pause,
): Promise<LayerTable> {
  const { data, candidates, pairBits, mostBits } = context;
  const layer = data.layers[place] as CaptureData['layers'][number];
  const problem: LayerProblem = { layer, sizes: data.sizes, exactOutput };
  const decoded = {
    key: await decodeAll(context, place, 'key', pause),
    value: await decodeAll(context, place, 'value', pause),
  };
  await pause();
  const alone = aloneErrors(problem, decoded);
  const kept = {
    key: nearBest(candidates.key.map(({ bits }, k) => ({ bits, error: alone.key[k] as number }))),
    value: nearBest(
      candidates.value.map(({ bits }, v) => ({ bits, error: alone.value[v] as number })),
    ),
  };
  const pairs = kept.key.flatMap((key) =>
    kept.value.map((value) => ({
      key,
      value,
      bits: pairBits(candidates.key[key] as Candidate, candidates.value[value] as Candidate),
      error: (alone.key[key] as number) + (alone.value[value] as number),
    })),
  );
  const affordable = pairs.filter(({ bits }) => bits <= mostBits);
  const wanted = nearBest(affordable, PAIR_MARGIN).map((i) => affordable[i] as LayerChoice);
  const choices: LayerChoice[] = [];
  for (const key of kept.key) {
    await pause();
    const row = wanted.filter((pair) => pair.key === key);
    const errors = pairErrors(
      problem,
      decoded.key[key] as DecodedTensor,
      row.map(({ value }) => decoded.value[value] as DecodedTensor),
    );
    for (const [i, pair] of row.entries()) {
      const error = errors[i] as number;
      if (Number.isFinite(error)) choices.push({ ...pair, error });
    }
  }
  return { choices, alone };
}

/** Null where the data do not fit a candidate. */
async function decodeAll(
  { data, candidates, windows, backend, geometry }: TableContext,
  place: number,
  tensor: TensorName,
  pause: Pause,
): Promise<(DecodedTensor | null)[]> {
  const decoded: (DecodedTensor | null)[] = [];
  for (const candidate of candidates[tensor]) {
    await pause();
    try {
      decoded.push(await decodeCandidate(data, place, candidate, windows, backend, geometry));
    } catch (error) {
      if (refusalOf(error)?.status !== 'failed') throw error;
      decoded.push(null);
    }
  }
  return decoded;
}

function aloneErrors(
  problem: LayerProblem,
  decoded: Readonly<Record<TensorName, readonly (DecodedTensor | null)[]>>,
): LayerTable['alone'] {
  const storable = (tensors: readonly (DecodedTensor | null)[]) =>
    tensors.filter((tensor) => tensor !== null);
  const errors = singleErrors(problem, storable(decoded.key), storable(decoded.value));
  const spread = (tensors: readonly (DecodedTensor | null)[], figures: readonly number[]) => {
    let next = 0;
    return tensors.map((tensor) => {
      const error = tensor === null ? Number.NaN : (figures[next++] as number);
      return Number.isNaN(error) ? Number.POSITIVE_INFINITY : error;
    });
  };
  return { key: spread(decoded.key, errors.key), value: spread(decoded.value, errors.value) };
}

/** Places of those that lose at most `margin` times what the best of at most their bits loses. */
function nearBest(
  figures: readonly { readonly bits: number; readonly error: number }[],
  margin = ALONE_MARGIN,
): number[] {
  return [...figures.keys()].filter((place) => {
    const { bits, error } = figures[place] as (typeof figures)[number];
    const rivals = figures.filter((other) => other.bits <= bits).map((other) => other.error);
    return Number.isFinite(error) && error <= margin * Math.min(...rivals);
  });
}
