/**
 * Statistics that transforms take from the sequence itself, docs/law.md 7.
 *
 * Each transform is measured on tokens to which the transforms before it have been applied.
 */
import { decodeF16, F16_MAX, F16_SMALLEST_NORMAL, f16DecodeTable, f32ToF16 } from '../float16.js';
import type { TensorPlan } from '../plan/plan.js';
import type { ChannelScale } from '../scheme.js';
import { pairwiseSum } from './hybrid.js';
import {
  F16_MAX_BITS,
  F16_ONE_BITS,
  F16_SMALLEST_NORMAL_BITS,
  offsetBits,
  settle,
} from './scale.js';
import { isMeasured, type MeasuredTransform, transformsOf } from './transform-numbers.js';
import { fixedStep, measuredStep } from './transform-steps.js';

/** The channel scale that is measured on the sequence itself. */
export type SequenceChannelScale = Extract<ChannelScale, { scope: 'sequence' }>;

/** A statistics page, f16 bits `[measured transforms, heads, headDim]`, from f16 tokens `[tokens, heads, headDim]`. */
export function measureStatistics(plan: TensorPlan, tokens: Uint16Array): Uint16Array {
  const { heads, headDim } = plan;
  const width = heads * headDim;
  const page = new Uint16Array(plan.statisticsPageBytes / 2);
  const values = decodeF16(tokens);
  let plane = 0;
  for (const transform of transformsOf(plan)) {
    let step: ReturnType<typeof fixedStep>;
    if (isMeasured(transform)) {
      const bits = measure(transform, values, heads, headDim);
      page.set(bits, plane++ * width);
      step = measuredStep(transform, bits, headDim);
    } else step = fixedStep(transform, plan);
    for (let at = 0; at < values.length; at += headDim)
      step.apply(values, at, (at / headDim) % heads);
  }
  return page;
}

/** f16 bits `[heads, headDim]` that one transform takes from f32 values `[tokens, heads, headDim]`. */
function measure(
  transform: MeasuredTransform,
  values: Float32Array,
  heads: number,
  headDim: number,
): Uint16Array {
  if (transform.kind === 'channelMean')
    return channelMeans(values, heads * headDim, transform.minimumOffset ?? 0);
  if (transform.kind === 'channelScale')
    return channelReciprocals(values, heads, headDim, transform);
  return new Uint16Array(heads * headDim).fill(tensorReciprocal(values, transform.largest));
}

/**
 * f16 bits of the mean of each channel: an f32 sum over the pairwise tree of tokens, one multiply by 1/n. What is not
 * finite counts as 0. A mean below `minimumOffset` mean absolute deviations of its channel is 0.
 */
function channelMeans(values: Float32Array, width: number, minimumOffset: number): Uint16Array {
  const table = f16DecodeTable();
  const tokens = values.length / width;
  const terms = new Float32Array(tokens);
  const share = Math.fround(1 / tokens);
  const average = (term: (value: number) => number, channel: number) => {
    for (let t = 0; t < tokens; t++) {
      const value = term(values[t * width + channel] as number);
      terms[t] = Number.isFinite(value) ? value : 0;
    }
    return Math.fround(pairwiseSum(terms, tokens) * share);
  };
  return Uint16Array.from({ length: width }, (_, channel) => {
    const bits = offsetBits(average((value) => value, channel));
    if (minimumOffset === 0) return bits;
    const mean = table[bits] as number;
    const deviation = average((value) => Math.abs(Math.fround(value - mean)), channel);
    return Math.abs(mean) >= Math.fround(Math.fround(minimumOffset) * deviation) ? bits : 0;
  });
}

/** f16 bits nearest to `largest` over the largest finite magnitude, saturated to normal numbers; 1 when all are 0. */
export function tensorReciprocal(values: Float32Array, largest: number): number {
  let maximum = 0;
  for (const value of values) {
    const magnitude = Math.abs(value);
    if (magnitude > maximum && magnitude < Number.POSITIVE_INFINITY) maximum = magnitude;
  }
  if (maximum === 0) return F16_ONE_BITS;
  const wanted = Math.fround(largest);
  const quotient = wanted / maximum;
  if (quotient <= F16_SMALLEST_NORMAL) return F16_SMALLEST_NORMAL_BITS;
  if (quotient >= F16_MAX) return F16_MAX_BITS;
  // A middle has 12 bits and the maximum 24: products are exact in double.
  return settle(f32ToF16(quotient), (middle) => middle * maximum - wanted);
}

/**
 * f16 bits of the reciprocal of n = sqrt(max |x|) per head and channel, from f32 values `[tokens, heads, headDim]`. n is
 * 1 for an all-zero channel, clamped to `clamp`, and 1 for a whole head whose max n / median n is below `minimumSpread`.
 * The reciprocal r is what packing multiplies with (exact in f32 for f16 values); attention multiplies by 1 / r in f32.
 */
export function channelReciprocals(
  values: Float32Array,
  heads: number,
  headDim: number,
  rule: Pick<SequenceChannelScale, 'clamp' | 'minimumSpread'>,
): Uint16Array {
  const table = f16DecodeTable();
  const width = heads * headDim;
  const largest = new Float32Array(width);
  for (let i = 0, channel = 0; i < values.length; i++) {
    const magnitude = Math.abs(values[i] as number);
    if (magnitude > (largest[channel] as number) && magnitude < Number.POSITIVE_INFINITY)
      largest[channel] = magnitude;
    if (++channel === width) channel = 0;
  }
  const reciprocals = new Uint16Array(width);
  for (let head = 0; head < heads; head++) {
    const first = head * headDim;
    for (let i = first; i < first + headDim; i++) {
      const maximum = largest[i] as number;
      reciprocals[i] =
        maximum === 0
          ? F16_ONE_BITS
          : reciprocalRoot(clamp(maximum, rule.clamp[0] ** 2, rule.clamp[1] ** 2));
    }
    const ordered = reciprocals.slice(first, first + headDim).sort();
    // n is largest where r is smallest. An even count takes the upper middle of r, that is the lower middle of n.
    const smallest = table[ordered[0] as number] as number;
    const median = table[ordered[headDim >> 1] as number] as number;
    const threshold = Math.fround(smallest * Math.fround(rule.minimumSpread));
    if (median < threshold) reciprocals.fill(F16_ONE_BITS, first, first + headDim);
  }
  return reciprocals;
}

/** f16 bits nearest to 1 / sqrt(maximum). A square of a middle has 24 bits and the maximum 24: products are exact in double. */
export function reciprocalRoot(maximum: number): number {
  return settle(f32ToF16(1 / Math.sqrt(maximum)), (middle) => middle * middle * maximum - 1);
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
