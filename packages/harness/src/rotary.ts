/**
 * The rotary embedding of a capture: what its metadata say, and rotating keys there and back in float64.
 */
import {
  type Geometry,
  LowbitKvError,
  type RotaryEmbedding,
  resolveGeometry,
} from '@lowbit-kv/core';
import type { CaptureSizes } from './capture-layers.js';

export interface CaptureRotary {
  /** As a geometry takes it. */
  readonly given: NonNullable<Geometry['rotary']>;
  readonly embedding: RotaryEmbedding;
  /** Position of the first token of the capture. */
  readonly firstPosition: number;
}

/** Why a capture cannot serve keys before the rotary embedding. */
export interface NoRotary {
  readonly reason: string;
  readonly value: unknown;
}

const STYLES: ReadonlyMap<string, 'halves' | 'adjacent'> = new Map([
  ['half-split', 'halves'],
  ['interleaved', 'adjacent'],
]);

/** From the metadata `rope_style`, `rope_theta` or `rope_frequencies`, `rope_dimensions` and `positions`. */
export function rotaryOf(
  metadata: Readonly<Record<string, string>>,
  sizes: Pick<CaptureSizes, 'queryHeads' | 'kvHeads' | 'keyHeadDim' | 'valueHeadDim'>,
): CaptureRotary | NoRotary {
  const style = metadata.rope_style ?? '';
  const pairs = STYLES.get(style);
  if (pairs === undefined)
    return {
      reason: `the metadata rope_style is none of ${[...STYLES.keys()].join(', ')}`,
      value: metadata.rope_style,
    };
  const base = metadata.rope_theta === undefined ? undefined : Number(metadata.rope_theta);
  const frequencies = numbersOf(metadata.rope_frequencies);
  if (base === undefined && frequencies === undefined)
    return { reason: 'the metadata have neither rope_theta nor rope_frequencies', value: metadata };
  const dimensions =
    metadata.rope_dimensions === undefined ? undefined : Number(metadata.rope_dimensions);
  const given = {
    pairs,
    ...(frequencies === undefined ? { base } : { frequencies }),
    ...(dimensions === undefined ? {} : { dimensions }),
  };
  try {
    const [layer] = resolveGeometry({ ...headsOf(sizes), layers: 1, rotary: given });
    const embedding = layer?.rotary as RotaryEmbedding;
    return { given, embedding, firstPosition: firstOf(metadata.positions) };
  } catch (error) {
    if (!LowbitKvError.is(error)) throw error;
    return { reason: `the metadata rope_* do not fit: ${error.message}`, value: given };
  }
}

/** The embedding, or PLAN_REFUSED: a scheme that stores keys before it cannot be fed from this capture. */
export function requireRotary(rotary: CaptureRotary | NoRotary): CaptureRotary {
  if ('embedding' in rotary) return rotary;
  throw new LowbitKvError('PLAN_REFUSED', {
    message: `keys before the rotary embedding cannot be had from this capture: ${rotary.reason}`,
    value: rotary.value,
    valid: 'metadata rope_style (half-split or interleaved) and rope_theta or rope_frequencies',
    next: 'Add them to the capture, or use a scheme that stores rotated keys.',
  });
}

/** Rotates `[tokens, heads, dim]` to positions `first`, `first + 1`, ... in float64; back from them when `back` is set. */
export function rotateKeys(
  keys: Float32Array,
  { kvHeads, keyHeadDim }: Pick<CaptureSizes, 'kvHeads' | 'keyHeadDim'>,
  { pairs, frequencies }: RotaryEmbedding,
  first: number,
  back = false,
): Float64Array {
  const rotated = Float64Array.from(keys);
  const count = frequencies.length;
  const [step, apart] = pairs === 'halves' ? [1, count] : [2, 1];
  const width = kvHeads * keyHeadDim;
  for (let token = 0; token * width < keys.length; token++) {
    for (let pair = 0; pair < count; pair++) {
      const angle = (first + token) * (frequencies[pair] as number) * (back ? -1 : 1);
      const cosine = Math.cos(angle);
      const sine = Math.sin(angle);
      for (let head = 0; head < kvHeads; head++) {
        const at = token * width + head * keyHeadDim + pair * step;
        const a = keys[at] as number;
        const b = keys[at + apart] as number;
        rotated[at] = a * cosine - b * sine;
        rotated[at + apart] = a * sine + b * cosine;
      }
    }
  }
  return rotated;
}

function headsOf({
  queryHeads,
  kvHeads,
  keyHeadDim,
  valueHeadDim,
}: Parameters<typeof rotaryOf>[1]) {
  return { queryHeads, kvHeads, keyHeadDim, valueHeadDim };
}

/** A JSON array of numbers; NaN in it makes the geometry refuse it. */
function numbersOf(text: string | undefined): number[] | undefined {
  if (text === undefined) return undefined;
  return text
    .replace(/^\s*\[|\]\s*$/g, '')
    .split(',')
    .map(Number);
}

/** Checked when the capture was opened. */
function firstOf(positions: string | undefined): number {
  return positions === undefined ? 0 : Number(positions.split('..')[0]);
}
