/**
 * Statistics that transforms take from the sequence itself, docs/law.md 7: channel scales and channel means.
 *
 * Each transform is measured on tokens to which the transforms before it have been applied.
 */
import { decodeF16, f16DecodeTable, f32ToF16 } from '../float16.js';
import type { TensorPlan } from '../plan/plan.js';
import type { ChannelScale } from '../scheme.js';
import { pairwiseSum } from './hybrid.js';
import { offsetBits } from './scale.js';
import { hadamard } from './transforms.js';

/** The channel scale that is measured on the sequence itself. */
export type SequenceChannelScale = Extract<ChannelScale, { scope: 'sequence' }>;

const ONE = 0x3c00;

/** A statistics page, f16 bits `[measured transforms, heads, headDim]`, from f16 tokens `[tokens, heads, headDim]`. */
export function measureStatistics(plan: TensorPlan, tokens: Uint16Array): Uint16Array {
  const { scheme, heads, headDim } = plan;
  const width = heads * headDim;
  const page = new Uint16Array(plan.statisticsPageBytes / 2);
  if (scheme.bits === 16) return page;
  const values = decodeF16(tokens);
  const table = f16DecodeTable();
  let plane = 0;
  for (const transform of scheme.transforms ?? []) {
    if (transform.kind === 'hadamard') {
      const factor = Math.fround(1 / Math.sqrt(headDim));
      for (let at = 0; at < values.length; at += headDim) hadamard(values, at, headDim, factor);
      continue;
    }
    const isMean = transform.kind === 'channelMean';
    const bits = isMean
      ? channelMeans(values, width)
      : channelReciprocals(values, heads, headDim, transform as SequenceChannelScale);
    page.set(bits, plane++ * width);
    for (let i = 0; i < values.length; i++) {
      const statistic = table[bits[i % width] as number] as number;
      const value = values[i] as number;
      values[i] = isMean ? value - statistic : value * statistic;
    }
  }
  return page;
}

/** f16 bits of the mean of each channel: an f32 sum over the pairwise tree of tokens, one multiply by 1/n. NaN counts as 0. */
function channelMeans(values: Float32Array, width: number): Uint16Array {
  const tokens = values.length / width;
  const terms = new Float32Array(tokens);
  const share = Math.fround(1 / tokens);
  return Uint16Array.from({ length: width }, (_, channel) => {
    for (let t = 0; t < tokens; t++) {
      const value = values[t * width + channel] as number;
      terms[t] = Number.isNaN(value) ? 0 : value;
    }
    return offsetBits(Math.fround(pairwiseSum(terms, tokens) * share));
  });
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
    // A NaN compares as false and must not win.
    const magnitude = Math.abs(values[i] as number);
    if (magnitude > (largest[channel] as number)) largest[channel] = magnitude;
    if (++channel === width) channel = 0;
  }
  const reciprocals = new Uint16Array(width);
  for (let head = 0; head < heads; head++) {
    const first = head * headDim;
    for (let i = first; i < first + headDim; i++) {
      const maximum = largest[i] as number;
      reciprocals[i] =
        maximum === 0
          ? ONE
          : reciprocalRoot(clamp(maximum, rule.clamp[0] ** 2, rule.clamp[1] ** 2));
    }
    const ordered = reciprocals.slice(first, first + headDim).sort();
    // n is largest where r is smallest. An even count takes the upper middle of r, that is the lower middle of n.
    const smallest = table[ordered[0] as number] as number;
    const median = table[ordered[headDim >> 1] as number] as number;
    const threshold = Math.fround(smallest * Math.fround(rule.minimumSpread));
    if (median < threshold) reciprocals.fill(ONE, first, first + headDim);
  }
  return reciprocals;
}

/** f16 bits nearest to 1 / sqrt(maximum), decided by comparing squares exactly. */
export function reciprocalRoot(maximum: number): number {
  const table = f16DecodeTable();
  let bits = f32ToF16(1 / Math.sqrt(maximum));
  // r is right when (r - half)^2 m <= 1 <= (r + half)^2 m; a square has 24 bits and m 24, so products are exact in double.
  const below = (candidate: number) => {
    const middle = ((table[candidate] as number) + (table[candidate - 1] as number)) / 2;
    return middle * middle * maximum;
  };
  while (bits > 1 && below(bits) > 1) bits--;
  while (bits < 0x7bff && below(bits + 1) < 1) bits++;
  return bits;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
