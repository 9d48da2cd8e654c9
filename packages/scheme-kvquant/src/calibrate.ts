/**
 * Offline calibration without gradients: thresholds of key channels, and levels of keys and values by k-means over
 * normalised values. A value weighs as much as the square of what it was divided by, so that what is minimised is the
 * error of keys and values themselves.
 */
import type { CalibrationSample, LayerCalibration, TensorCalibration } from '@lowbit-kv/core';
import { fitLevels } from './fit-levels.js';
import { PointHistogram } from './point-histogram.js';
import { headDimOf, samplesByLayer } from './samples.js';
import { channelRanges } from './thresholds.js';

export interface CalibrateOptions {
  readonly bits: 2 | 3 | 4;
  /** Largest magnitudes of each token of a head that levels are not for. */
  readonly outliers: number;
  /** Share of a key channel outside its thresholds. */
  readonly outlierShare: number;
  /** First tokens of each sample that are left out. */
  readonly sinks: number;
}

/**
 * Calibrates every layer. A sample is one run of one layer, keys before the rotary embedding; all are held in memory.
 * Throws CALIBRATION_INVALID or NON_FINITE for samples that cannot be used.
 */
export async function calibrateKvquant(
  samples: AsyncIterable<CalibrationSample>,
  options: CalibrateOptions,
): Promise<LayerCalibration[]> {
  const layers = await samplesByLayer(samples, options.sinks);
  return layers.map((runs) => ({
    key: calibrateKeys(runs, options),
    value: { levels: valueLevels(runs, options) },
  }));
}

function calibrateKeys(
  runs: readonly CalibrationSample[],
  { bits, outliers, outlierShare, sinks }: CalibrateOptions,
): TensorCalibration {
  const { means, factors } = channelRanges(runs, outlierShare, sinks);
  const histogram = new PointHistogram(-1, 1);
  for (const { row, head } of rowsOf(runs, 'key', sinks)) {
    const [mean, factor] = [means[head] as number[], factors[head] as number[]];
    const normalised = row.map((x, channel) => {
      return (x - (mean[channel] as number)) / (factor[channel] as number);
    });
    for (const channel of withoutLargest(normalised, outliers)) {
      const x = Math.min(Math.max(normalised[channel] as number, -1), 1);
      histogram.add(x, (factor[channel] as number) ** 2);
    }
  }
  const levels = fitLevels(histogram.points(), 2 ** bits);
  return { channelMeans: means, channelFactors: factors, levels: usable(levels) };
}

/** Levels from 0 to 1: the smallest and the largest value of a token decode from the ends. */
function valueLevels(
  runs: readonly CalibrationSample[],
  { bits, outliers, sinks }: CalibrateOptions,
): number[] {
  const histogram = new PointHistogram(0, 1);
  for (const { row } of rowsOf(runs, 'value', sinks)) {
    const members = withoutLargest(row, outliers).map((channel) => row[channel] as number);
    const low = Math.min(...members);
    const range = Math.max(...members) - low;
    // Tokens of one value, or of none, are exact with any levels.
    if (!(range > 0)) continue;
    for (const x of members) histogram.add((x - low) / range, range ** 2);
  }
  return usable(fitLevels(histogram.points(), 2 ** bits, [0, 1]));
}

/** Each token of each head, after the sinks of its run. */
function* rowsOf(runs: readonly CalibrationSample[], tensor: 'key' | 'value', sinks: number) {
  for (const run of runs) {
    const headDim = headDimOf(run, tensor);
    for (let row = sinks * run.kvHeads; row < run.tokens * run.kvHeads; row++) {
      yield {
        head: row % run.kvHeads,
        row: Float64Array.from(run[tensor].subarray(row * headDim, (row + 1) * headDim)),
      };
    }
  }
}

/** Rising channels without those of the `count` largest magnitudes; of equal ones the lower channels go. */
function withoutLargest(row: Float64Array, count: number): number[] {
  const channels = [...row.keys()];
  if (count === 0) return channels;
  const magnitude = (channel: number) => Math.abs(row[channel] as number);
  return channels
    .sort((a, b) => magnitude(b) - magnitude(a))
    .slice(count)
    .sort((a, b) => a - b);
}

/** As f32, still rising, and at least two of them: a table needs a second level even where nothing takes it. */
function usable(levels: readonly number[]): number[] {
  const distinct = [...new Set(levels.map(Math.fround))];
  if (distinct.length >= 2) return distinct;
  const [only = 0] = distinct;
  return only < 1 ? [only, 1] : [-1, only];
}
