/**
 * Offline calibration of the band thresholds: quantiles of all keys or values of a layer, per calibration run, rounded
 * to f16, averaged over the runs and rounded to f16 again, so that grouping uses exactly what is stored.
 */
import {
  type CalibrationSample,
  type LayerCalibration,
  LowbitKvError,
  type OutlierBands,
  roundToF16,
} from '@lowbit-kv/core';
import { EDGES, sortedFinite, type Thresholds, thresholdsOf } from './quantiles.js';

interface LayerSum {
  readonly key: Thresholds;
  readonly value: Thresholds;
  runs: number;
}

/**
 * Thresholds of every layer. One sample is one forward of one layer; layers may come in any order and all need at least
 * one. Throws CALIBRATION_INVALID for missing layers or malformed samples, NON_FINITE for values outside f16.
 */
export async function calibrateThresholds(
  samples: AsyncIterable<CalibrationSample>,
  shares: OutlierBands['shares'],
): Promise<LayerCalibration[]> {
  const sums = new Map<number, LayerSum>();
  for await (const sample of samples) {
    checkSample(sample);
    const sum = sums.get(sample.layer) ?? { key: zeros(), value: zeros(), runs: 0 };
    for (const tensor of ['key', 'value'] as const) {
      const found = thresholdsOf(
        sortedFinite(sample[tensor], { tensor, layer: sample.layer }),
        shares,
      );
      for (const edge of EDGES) sum[tensor][edge] += found[edge];
    }
    sum.runs++;
    sums.set(sample.layer, sum);
  }
  const missing = Array.from({ length: Math.max(0, ...sums.keys()) }, (_, i) => i).filter(
    (layer) => !sums.has(layer),
  );
  if (sums.size === 0 || missing.length > 0) {
    throw refusal('some layers have no calibration sample', missing, 'a sample of every layer');
  }
  return Array.from({ length: sums.size }, (_, layer) => {
    const { key, value, runs } = sums.get(layer) as LayerSum;
    return {
      key: { thresholds: averaged(key, runs) },
      value: { thresholds: averaged(value, runs) },
    };
  });
}

function averaged(sum: Thresholds, runs: number): Thresholds {
  const result = zeros();
  for (const edge of EDGES) result[edge] = roundToF16(sum[edge] / runs) + 0;
  return result;
}

function zeros(): Thresholds {
  return { outerLow: 0, outerHigh: 0, innerLow: 0, innerHigh: 0 };
}

function checkSample(sample: CalibrationSample): void {
  const { layer, tokens, kvHeads } = sample;
  if (!(Number.isSafeInteger(layer) && layer >= 0))
    throw refusal('the layer of a sample is not valid', layer, 'an integer of at least 0');
  for (const tensor of ['key', 'value'] as const) {
    const { length } = sample[tensor];
    const rows = tokens * kvHeads;
    if (!(Number.isSafeInteger(rows) && rows > 0 && length > 0 && length % rows === 0)) {
      throw refusal(
        `the ${tensor}s of a sample of layer ${layer} have the wrong size`,
        { tokens, kvHeads, elements: length },
        '[tokens, kvHeads, headDim] with at least one token',
      );
    }
  }
}

function refusal(message: string, value: unknown, valid: string): LowbitKvError {
  return new LowbitKvError('CALIBRATION_INVALID', {
    message,
    value,
    valid,
    next: 'Correct the samples and calibrate again.',
  });
}
