/**
 * Calibrated values of transforms: shapes, ranges and permutations, for each kv head and channel.
 */
import type { DataPosition } from '../errors.js';
import type { QuantizedTensorScheme, TensorCalibration } from '../scheme.js';
import { calibratedValues } from '../scheme-rules.js';

/** Refuses a value of one tensor of one layer; `at` says where in it. */
export type Refuse = (part: string, value: unknown, valid: string, at?: DataPosition) => never;

interface TensorShape {
  readonly kvHeads: number;
  readonly headDim: number;
}

/** f16 values times these factors, or minus these means, stay far inside f32, also through three transforms. */
const LARGEST = 2 ** 32;
const FACTORS = 'numbers from 2^-32 to 2^32';
const MEANS = 'numbers from -2^32 to 2^32';

/** Checks everything that the transforms of a tensor take from its calibration. */
export function checkTransformValues(
  spec: QuantizedTensorScheme,
  values: TensorCalibration,
  shape: TensorShape,
  refuse: Refuse,
): void {
  for (const needed of calibratedValues(spec)) {
    switch (needed) {
      case 'tensorFactor':
        if (values.tensorFactor === undefined || !isFactor(values.tensorFactor))
          refuse('tensorFactor is missing or out of range', values.tensorFactor, FACTORS);
        break;
      case 'channelFactors':
        checkChannels(needed, values[needed], shape, isFactor, FACTORS, refuse);
        break;
      case 'channelMeans':
        checkChannels(needed, values[needed], shape, isMean, MEANS, refuse);
        break;
      case 'channelOrder':
        checkOrder(values[needed], shape, refuse);
    }
  }
}

function isFactor(value: number): boolean {
  return 1 / LARGEST <= value && value <= LARGEST;
}

function isMean(value: number): boolean {
  return Math.abs(value) <= LARGEST;
}

function checkChannels(
  name: string,
  values: readonly (readonly number[])[] | undefined,
  { kvHeads, headDim }: TensorShape,
  isValid: (value: number) => boolean,
  valid: string,
  refuse: Refuse,
): asserts values is readonly (readonly number[])[] {
  if (values?.length !== kvHeads)
    refuse(
      `${name} have another number of heads`,
      values?.length,
      `${kvHeads} lists, one per head`,
    );
  for (const [head, channels] of (values ?? []).entries()) {
    if (channels.length !== headDim)
      refuse(`${name} have another head dim`, channels.length, `${headDim} numbers`, { head });
    const channel = channels.findIndex((value) => !isValid(value));
    if (channel >= 0)
      refuse(`${name} are out of range`, channels[channel], valid, { head, channel });
  }
}

function checkOrder(
  order: TensorCalibration['channelOrder'],
  shape: TensorShape,
  refuse: Refuse,
): void {
  const valid = `each of 0 to ${shape.headDim - 1} once`;
  const isChannel = (value: number) =>
    Number.isInteger(value) && 0 <= value && value < shape.headDim;
  checkChannels('channelOrder', order, shape, isChannel, valid, refuse);
  for (const [head, channels] of order.entries()) {
    const channel = channels.findIndex((value, i) => channels.indexOf(value) !== i);
    if (channel >= 0)
      refuse('channelOrder is no permutation', channels[channel], valid, { head, channel });
  }
}
