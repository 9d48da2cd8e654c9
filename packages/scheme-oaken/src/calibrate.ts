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

const EDGES = ['outerLow', 'outerHigh', 'innerLow', 'innerHigh'] as const;
type Thresholds = Record<(typeof EDGES)[number], number>;

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
      const found = thresholdsOf(sample[tensor], shares, { tensor, layer: sample.layer });
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

/** Quantiles of one tensor of one run, each rounded to f16: `higher` for upper edges, `lower` for lower ones. */
function thresholdsOf(
  values: Float32Array,
  shares: OutlierBands['shares'],
  where: { tensor: string; layer: number },
): Thresholds {
  const sorted = values.slice().sort();
  // Sorting puts NaN last and infinities at the ends.
  const [first, last] = [sorted[0] as number, sorted[sorted.length - 1] as number];
  if (!(Math.abs(roundToF16(first)) <= 65504 && Math.abs(roundToF16(last)) <= 65504)) {
    throw new LowbitKvError('NON_FINITE', {
      message: 'a calibration sample holds a value that is not a finite f16',
      value: Number.isFinite(first) ? last : first,
      valid: 'finite numbers within -65504 and 65504',
      next: 'Leave this calibration run out, or find out why the model overflows.',
      where,
    });
  }
  const low = (fraction: number) => sorted[Math.floor((sorted.length - 1) * fraction)] as number;
  const high = (fraction: number) => sorted[Math.ceil((sorted.length - 1) * fraction)] as number;
  const outer = withoutDust(shares.outer / 2);
  const inner = withoutDust((shares.outer + shares.middle) / 2);
  return {
    outerLow: roundToF16(low(outer)),
    outerHigh: roundToF16(high(withoutDust(1 - outer))),
    innerLow: roundToF16(low(inner)),
    innerHigh: roundToF16(high(withoutDust(1 - inner))),
  };
}

/** The double nearest to a decimal fraction: 1 - 0.94 / 2 must be 0.53, or a rank may move by one. */
function withoutDust(fraction: number): number {
  return Math.round(fraction * 1e12) / 1e12;
}

function averaged(sum: Thresholds, runs: number): Thresholds {
  const result = zeros();
  for (const edge of EDGES) result[edge] = nearestF16(sum[edge] / runs) + 0;
  return result;
}

/** The f16 nearest to a double; `roundToF16` passes through f32, which can turn a near tie into a tie. */
function nearestF16(value: number): number {
  const nearest = roundToF16(value);
  const mirrored = 2 * Math.fround(value) - nearest;
  const closer = Math.abs(value - mirrored) < Math.abs(value - nearest);
  return closer && roundToF16(mirrored) === mirrored ? mirrored : nearest;
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
