/**
 * Pointer data: every token carries its id in the signs of its key, and a value id in the signs of its value. A query
 * that points at a token must return exactly that token's value, and a zero query the plain mean of all visible values,
 * so that one data set checks head mapping, strides, masks, flush edges and rollback without a numeric reference.
 * The amplitudes have the range 1785 = 3 * 5 * 7 * 17 in the last place: 2, 3, 4 and 8-bit affine groups, and
 * sign-magnitude groups of 2, 3 and 4 bits, hold the data exactly.
 */
import { f32ToF16 } from '../float16.js';
import { checkInteger } from './check.js';

/** Constants of one pointer data set. Channel c carries bit `c mod keyBits` (or `valueBits`) of the id. */
export interface PointerFormat {
  readonly keyBits: number;
  readonly valueBits: number;
  readonly keyAmplitude: number;
  readonly valueAmplitude: number;
  readonly queryAmplitude: number;
  /** What one kv head adds to the value id. */
  readonly headStride: number;
  /** What one batch entry adds to the value id. */
  readonly batchStride: number;
}

export const POINTER_FORMAT: PointerFormat = Object.freeze({
  keyBits: 16,
  valueBits: 32,
  keyAmplitude: 892.5 / 128,
  valueAmplitude: 892.5 / 1024,
  queryAmplitude: 8,
  headStride: 2 ** 20,
  batchStride: 2 ** 26,
});

export interface PointerTensorOptions {
  /** Ids of the tokens in order; an id is at most `2^keyBits - 1`, or two tokens could not be told apart. */
  readonly tokenIds: ArrayLike<number>;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly format?: PointerFormat;
}

/** Where a value sits: one kv head of one batch entry (default 0). */
export interface PointerPlace {
  readonly kvHead: number;
  readonly batch?: number;
  readonly headDim: number;
  readonly format?: PointerFormat;
}

/** The id whose bits the value of this token carries: `tokenId + headStride * kvHead + batchStride * batch`. */
export function pointerValueId(
  tokenId: number,
  kvHead: number,
  batch = 0,
  format: PointerFormat = POINTER_FORMAT,
): number {
  checkTokenId(tokenId, format);
  checkInteger('kvHead', kvHead, 0);
  checkInteger('batch', batch, 0);
  const id = tokenId + format.headStride * kvHead + format.batchStride * batch;
  return checkInteger('value id', id, 0, 2 ** format.valueBits - 1);
}

/** Keys as f16 bits `[tokens, kvHeads, headDim]`; all heads of a token are equal. */
export function pointerKeys(options: PointerTensorOptions): Uint16Array {
  const { tokenIds, kvHeads, format = POINTER_FORMAT } = options;
  const headDim = checkHeadDim(options.headDim);
  const keys = new Uint16Array(tokenIds.length * kvHeads * headDim);
  for (let token = 0, at = 0; token < tokenIds.length; token++) {
    const id = checkTokenId(tokenIds[token] ?? -1, format);
    for (let head = 0; head < kvHeads; head++, at += headDim) {
      writeSigns(keys, at, headDim, id, format.keyBits, format.keyAmplitude);
    }
  }
  return keys;
}

/** Values of one batch entry as f16 bits `[tokens, kvHeads, headDim]`; each head has its own pattern. */
export function pointerValues(
  options: PointerTensorOptions & { readonly batch?: number },
): Uint16Array {
  const { tokenIds, kvHeads, batch = 0, format = POINTER_FORMAT } = options;
  const headDim = checkHeadDim(options.headDim);
  const values = new Uint16Array(tokenIds.length * kvHeads * headDim);
  for (let token = 0, at = 0; token < tokenIds.length; token++) {
    for (let head = 0; head < kvHeads; head++, at += headDim) {
      const id = pointerValueId(tokenIds[token] ?? -1, head, batch, format);
      writeSigns(values, at, headDim, id, format.valueBits, format.valueAmplitude);
    }
  }
  return values;
}

/**
 * Queries as f16 bits `[targets.length, headDim]`, one row per query head (and query token, query heads fastest).
 * A row points at the token with that id; `null` makes a zero query, which weighs all visible tokens equally.
 */
export function pointingQuery(
  targets: readonly (number | null)[],
  headDim: number,
  format: PointerFormat = POINTER_FORMAT,
): Uint16Array {
  checkHeadDim(headDim);
  const queries = new Uint16Array(targets.length * headDim);
  targets.forEach((target, row) => {
    if (target === null) return;
    const id = checkTokenId(target, format);
    writeSigns(queries, row * headDim, headDim, id, format.keyBits, format.queryAmplitude);
  });
  return queries;
}

/** What a query pointing at `tokenId` must return, in units of the value amplitude: `headDim` signs, +1 or -1. */
export function expectedPattern(tokenId: number, place: PointerPlace): Float64Array {
  return expectedMean([tokenId], place);
}

/**
 * What a zero query must return over these visible tokens, in units of the value amplitude:
 * channel c is `2 * share of tokens whose value id has bit c - 1`; all 0 when nothing is visible.
 */
export function expectedMean(tokenIds: ArrayLike<number>, place: PointerPlace): Float64Array {
  const { kvHead, batch = 0, format = POINTER_FORMAT } = place;
  const headDim = checkHeadDim(place.headDim);
  const mean = new Float64Array(headDim);
  if (tokenIds.length === 0) return mean;
  for (let token = 0; token < tokenIds.length; token++) {
    const id = pointerValueId(tokenIds[token] ?? -1, kvHead, batch, format);
    for (let channel = 0; channel < headDim; channel++) {
      if (hasBit(id, channel % format.valueBits)) mean[channel] = (mean[channel] ?? 0) + 1;
    }
  }
  return mean.map((count) => (2 * count) / tokenIds.length - 1);
}

/** Attention output divided by the value amplitude, comparable with `expectedPattern` and `expectedMean`. */
export function inPointerUnits(
  output: ArrayLike<number>,
  format: PointerFormat = POINTER_FORMAT,
): Float64Array {
  return Float64Array.from(output, (value) => value / format.valueAmplitude);
}

/** `count` consecutive ids from `first`. */
export function tokenIdRange(first: number, count: number): number[] {
  return Array.from({ length: checkInteger('count', count, 0) }, (_, offset) => first + offset);
}

function writeSigns(
  target: Uint16Array,
  start: number,
  dim: number,
  id: number,
  bits: number,
  amplitude: number,
): void {
  const plus = f32ToF16(amplitude);
  const minus = f32ToF16(-amplitude);
  for (let channel = 0; channel < dim; channel++)
    target[start + channel] = hasBit(id, channel % bits) ? plus : minus;
}

function hasBit(id: number, bit: number): boolean {
  return ((id >>> bit) & 1) === 1;
}

function checkTokenId(id: number, format: PointerFormat): number {
  return checkInteger('token id', id, 0, 2 ** format.keyBits - 1);
}

function checkHeadDim(headDim: number): number {
  return checkInteger('headDim', headDim, 1);
}
