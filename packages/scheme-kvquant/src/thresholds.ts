/**
 * What normalises a key channel: the middle of its two thresholds and half their distance.
 */
import type { CalibrationSample } from '@lowbit-kv/core';
import { headDimOf } from './samples.js';

/** `[kvHeads][headDim]` each. */
export interface ChannelRanges {
  readonly means: number[][];
  readonly factors: number[][];
}

/** A channel with one value has no distance: it is only shifted. */
const NO_DISTANCE = 1;
/** What a plan accepts. */
const SMALLEST_FACTOR = 2 ** -32;

/** Thresholds are the quantiles `share / 2` and `1 - share / 2` of the tokens after the first `sinks` of each sample. */
export function channelRanges(
  samples: readonly CalibrationSample[],
  share: number,
  sinks: number,
): ChannelRanges {
  const [sample] = samples as [CalibrationSample];
  const { kvHeads } = sample;
  const headDim = headDimOf(sample, 'key');
  const means: number[][] = [];
  const factors: number[][] = [];
  const tokens = samples.reduce((sum, run) => sum + Math.max(run.tokens - sinks, 0), 0);
  const values = new Float32Array(tokens);
  for (let head = 0; head < kvHeads; head++) {
    const ranges = Array.from({ length: headDim }, (_, channel) => {
      let count = 0;
      for (const { key, tokens: end } of samples) {
        for (let token = sinks; token < end; token++)
          values[count++] = key[(token * kvHeads + head) * headDim + channel] as number;
      }
      values.sort();
      return [quantile(values, share / 2), quantile(values, 1 - share / 2)] as const;
    });
    means.push(ranges.map(([low, high]) => (low + high) / 2));
    factors.push(
      ranges.map(([low, high]) => {
        const half = (high - low) / 2;
        return half < SMALLEST_FACTOR ? NO_DISTANCE : half;
      }),
    );
  }
  return { means, factors };
}

/** Linear between ranks. */
function quantile(sorted: Float32Array, fraction: number): number {
  const rank = (sorted.length - 1) * fraction;
  const below = Math.floor(rank);
  const low = sorted[below] as number;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] as number;
  return low + (high - low) * (rank - below);
}
