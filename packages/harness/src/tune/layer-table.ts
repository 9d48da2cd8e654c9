/**
 * The table of one layer: which pairs of candidates it can be stored as, with exact errors.
 */
import type { Backend, Geometry } from '@lowbit-kv/core';
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

/**
 * Alone, a candidate may lose this much more than the best one of at most its bits and still be tried in pairs: errors of
 * keys and values add up almost, not quite.
 */
const ALONE_MARGIN = 1.1;

export async function layerTable(
  context: TableContext,
  place: number,
  exactOutput: Float64Array,
): Promise<LayerTable> {
  const { data, candidates, pairBits, mostBits } = context;
  const layer = data.layers[place] as CaptureData['layers'][number];
  const problem: LayerProblem = { layer, sizes: data.sizes, exactOutput };
  const decoded = {
    key: await decodeAll(context, place, 'key'),
    value: await decodeAll(context, place, 'value'),
  };
  const alone = aloneErrors(problem, decoded);
  const kept = {
    key: worthPairing(candidates.key, alone.key),
    value: worthPairing(candidates.value, alone.value),
  };
  const keys = kept.key.map((k) => decoded.key[k] as DecodedTensor);
  const values = kept.value.map((v) => decoded.value[v] as DecodedTensor);
  const bitsOf = (k: number, v: number) =>
    pairBits(
      candidates.key[kept.key[k] as number] as Candidate,
      candidates.value[kept.value[v] as number] as Candidate,
    );
  const errors = pairErrors(problem, keys, values, (k, v) => bitsOf(k, v) <= mostBits);
  const choices = errors.flatMap((row, k) =>
    row.flatMap((error, v) =>
      error === undefined || !Number.isFinite(error)
        ? []
        : [
            {
              key: kept.key[k] as number,
              value: kept.value[v] as number,
              bits: bitsOf(k, v),
              error,
            },
          ],
    ),
  );
  return { choices, alone };
}

/** Null where the data do not fit a candidate. */
async function decodeAll(
  { data, candidates, windows, backend, geometry }: TableContext,
  place: number,
  tensor: TensorName,
): Promise<(DecodedTensor | null)[]> {
  const decoded: (DecodedTensor | null)[] = [];
  for (const candidate of candidates[tensor]) {
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

/** Places of the candidates (by rising bits) that are near the best of at most their bits. */
function worthPairing(candidates: readonly Candidate[], alone: readonly number[]): number[] {
  return [...candidates.keys()].filter((place) => {
    const { bits } = candidates[place] as Candidate;
    const rivals = alone.filter((_, other) => (candidates[other] as Candidate).bits <= bits);
    const error = alone[place] as number;
    return Number.isFinite(error) && error <= ALONE_MARGIN * Math.min(...rivals);
  });
}
