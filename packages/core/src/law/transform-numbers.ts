/**
 * The transforms of a tensor, and the numbers that its calibration holds for them, docs/law.md 7.
 */
import type { TensorPlan } from '../plan/plan.js';
import type { TensorScheme, Transform } from '../scheme.js';

/** A transform whose numbers are measured on the sequence itself. */
export type MeasuredTransform = Extract<Transform, { scope: 'sequence' }>;
/** A transform whose numbers come from the calibration. */
export type CalibratedTransform = Extract<Transform, { scope: 'model' }>;

/** `[heads, headDim]`: f32 factors or means, or the channels of an order. */
export type TransformNumbers = Float32Array | Uint32Array;

export interface CalibratedNumbers {
  /** Reciprocals of factors, means, or an order. */
  readonly packing: TransformNumbers;
  /** Factors; for other transforms the very array of `packing`. */
  readonly attention: TransformNumbers;
}

/** In the order of packing; none when the tensor stays f16. */
export function transformsOf({ scheme }: { readonly scheme: TensorScheme }): readonly Transform[] {
  return scheme.bits === 16 ? [] : (scheme.transforms ?? []);
}

export function isMeasured(transform: Transform): transform is MeasuredTransform {
  return 'statisticsTokens' in transform;
}

export function isCalibrated(transform: Transform): transform is CalibratedTransform {
  return 'scope' in transform && transform.scope === 'model';
}

/** What packing and what attention take from the calibration of a plan. */
export function calibratedNumbers(
  { kind }: CalibratedTransform,
  { heads, headDim, calibration }: TensorPlan,
): CalibratedNumbers {
  // The planner has checked that a calibration holds what the transforms take from it.
  const values = calibration ?? {};
  switch (kind) {
    case 'tensorScale':
      return scale(new Float32Array(heads * headDim).fill(values.tensorFactor as number));
    case 'channelScale':
      return scale(Float32Array.from(channelsOf(values.channelFactors)));
    case 'channelMean':
      return same(Float32Array.from(channelsOf(values.channelMeans)));
    case 'channelOrder':
      return same(Uint32Array.from(channelsOf(values.channelOrder)));
  }
}

function scale(factors: Float32Array): CalibratedNumbers {
  return { packing: factors.map((factor) => 1 / factor), attention: factors };
}

function same(numbers: TransformNumbers): CalibratedNumbers {
  return { packing: numbers, attention: numbers };
}

function channelsOf(values: readonly (readonly number[])[] | undefined): number[] {
  return (values as readonly (readonly number[])[]).flat();
}
