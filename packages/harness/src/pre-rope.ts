/**
 * Keys before the rotary embedding: from the capture when it holds them, else its keys rotated back and rounded to f16.
 */
import {
  decodeF16,
  f32ToF16,
  LowbitKvError,
  roundToF16,
  type SchemeData,
  type TensorScheme,
} from '@lowbit-kv/core';
import { captureError } from './capture-error.js';
import type { CaptureSizes, LayerTensors } from './capture-layers.js';
import { errorSum, nmseOf } from './metrics.js';
import { type CaptureRotary, type NoRotary, requireRotary, rotateKeys } from './rotary.js';

export type Stage = 'post-rope' | 'pre-rope';

/** Keys of one layer at one stage. */
export interface StageKeys {
  /** f16 bits, `[tokens, kvHeads, keyHeadDim]`. */
  readonly bits: Uint16Array;
  /** The same as numbers. */
  readonly exact: Float32Array;
}

export interface PreRopeSource {
  readonly sizes: CaptureSizes;
  readonly rotary: CaptureRotary | NoRotary;
  /** After the embedding. */
  readonly key: Float32Array;
  /** Before it, when the capture has them. */
  readonly captured: Uint16Array | undefined;
  readonly file: string;
  /** Name of the tensor of keys before the embedding. */
  readonly tensor: string;
}

/**
 * How far captured keys, rotated, may be from the captured rotated ones (NMSE): both were rounded to f16, which makes about
 * 1e-7.
 */
const SAME_KEYS = 1e-6;

/** Which keys a tensor of keys is fed with. */
export function stageOf(key: TensorScheme): Stage {
  return (key.bits !== 16 && key.stage) || 'post-rope';
}

/** Which keys a scheme is calibrated on: those before the embedding when it stores any of them. */
export function calibrationStage({ key, overrides = [] }: SchemeData): Stage {
  const keys = [key, ...overrides.flatMap((override) => override.key ?? [])];
  return keys.some((tensor) => stageOf(tensor) === 'pre-rope') ? 'pre-rope' : 'post-rope';
}

/** The keys of a layer at a stage. Throws what `preRopeKeys` throws. */
export function keysAt(layer: LayerTensors, stage: Stage): StageKeys {
  return stage === 'pre-rope' ? layer.preRope() : { bits: layer.key, exact: layer.exact.key };
}

/**
 * Throws PLAN_REFUSED when the capture does not say how its keys were rotated, or not from position 0, and CAPTURE_INVALID
 * when the keys it holds from before the embedding do not become its keys by it.
 */
export function preRopeKeys(source: PreRopeSource): StageKeys {
  const { sizes, key, captured, file, tensor } = source;
  const rotary = requireRotary(source.rotary);
  if (rotary.firstPosition !== 0) {
    throw new LowbitKvError('PLAN_REFUSED', {
      message:
        'a cache rotates keys to positions from 0, and the queries of this capture stand elsewhere',
      value: rotary.firstPosition,
      valid: 'captures whose positions begin at 0',
      next: 'Capture from the beginning of a sequence, or use a scheme that stores rotated keys.',
    });
  }
  if (captured === undefined) {
    const bits = rotatedBack(key, sizes, rotary);
    return { bits, exact: decodeF16(bits) };
  }
  const exact = decodeF16(captured);
  const error = nmseOf(errorSum(rotateKeys(exact, sizes, rotary.embedding, 0), key));
  if (error <= SAME_KEYS) return { bits: captured, exact };
  throw captureError(file, {
    reason:
      'keys before the rotary embedding do not become the keys after it by the metadata rope_*',
    tensor,
    value: error,
    valid: `an NMSE of at most ${SAME_KEYS}`,
    next: 'Correct rope_theta, rope_style, rope_frequencies or rope_dimensions, or capture again.',
  });
}

/** f16 bits of keys rotated back from the positions of the capture, rounded once. */
export function rotatedBack(
  key: Float32Array,
  sizes: Pick<CaptureSizes, 'kvHeads' | 'keyHeadDim'>,
  { embedding, firstPosition }: CaptureRotary,
): Uint16Array {
  const rotated = rotateKeys(key, sizes, embedding, firstPosition, true);
  return Uint16Array.from(rotated, (value) => f32ToF16(roundToF16(value)));
}
