/**
 * A capture in two parts: earlier queries to choose by, later ones to judge by.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { CaptureData } from '../capture-data.js';
import { type CaptureSizes, positionOf } from '../capture-layers.js';
import type { ExactAttention } from '../exact-attention.js';
import { outputError } from '../metrics.js';
import type { LayerOutput } from '../replay.js';
import type { OutputError } from '../report.js';

/** Query rows `first` to `end` of a capture, and the tokens that the last of them sees. */
export interface CapturePart {
  readonly first: number;
  readonly end: number;
  readonly sizes: CaptureSizes;
}

export interface SplitCapture {
  readonly fit: CapturePart;
  readonly heldOut: CapturePart;
}

/** The first half of the queries and the second. Throws OPTION_INVALID when there is one query only. */
export function splitCapture({ sizes }: CaptureData): SplitCapture {
  if (sizes.queries < 2) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'one query position cannot be split into a part to choose by and one to judge by',
      value: sizes.queries,
      valid: 'a capture with at least 2 query positions',
      next: 'Capture the queries of more positions, 64 or more.',
      where: { field: 'positions' },
    });
  }
  const half = Math.floor(sizes.queries / 2);
  const part = (first: number, end: number): CapturePart => ({
    first,
    end,
    sizes: { ...sizes, queries: end - first, tokens: positionOf(sizes, end - 1) + 1 },
  });
  return { fit: part(0, half), heldOut: part(half, sizes.queries) };
}

/** The capture as it was when the last query of the part had its turn, with the queries of the part. */
export function dataOfPart(data: CaptureData, { first, end, sizes }: CapturePart): CaptureData {
  const { kvHeads, keyHeadDim, valueHeadDim, queryHeads, tokens } = sizes;
  const keys = tokens * kvHeads * keyHeadDim;
  const values = tokens * kvHeads * valueHeadDim;
  const width = queryHeads * keyHeadDim;
  const layers = data.layers.map((layer) => ({
    ...layer,
    key: layer.key.subarray(0, keys),
    value: layer.value.subarray(0, values),
    exact: {
      key: layer.exact.key.subarray(0, keys),
      value: layer.exact.value.subarray(0, values),
    },
    query: layer.query.subarray(first * width, end * width),
    preRope: () => {
      const { bits, exact } = layer.preRope();
      return { bits: bits.subarray(0, keys), exact: exact.subarray(0, keys) };
    },
  }));
  return { ...data, sizes, layers };
}

/** Rows of the part, of outputs over the whole capture. */
export function rowsOfPart<T extends Float32Array | Float64Array>(
  { output, logSumExp }: { readonly output: T; readonly logSumExp: T },
  { first, end, sizes: { queryHeads, valueHeadDim } }: CapturePart,
): { readonly output: T; readonly logSumExp: T } {
  const width = queryHeads * valueHeadDim;
  return {
    output: output.subarray(first * width, end * width) as T,
    logSumExp: logSumExp.subarray(first * queryHeads, end * queryHeads) as T,
  };
}

/** What a replay of the whole capture lost on the queries of one part. */
export function errorOfPart(
  replayed: readonly LayerOutput[],
  exact: readonly ExactAttention[],
  numbers: readonly number[],
  part: CapturePart,
): OutputError {
  return outputError(
    replayed.map((layer) => rowsOfPart(layer, part)),
    exact.map((layer) => rowsOfPart(layer, part)),
    numbers,
    part.sizes,
  );
}
