/**
 * Calibration samples of each layer, checked.
 */
import { type CalibrationSample, LowbitKvError, roundToF16 } from '@lowbit-kv/core';

type TensorName = 'key' | 'value';

/**
 * The samples of layers 0, 1, ...; they may come in any order, and all layers need at least one. Throws
 * CALIBRATION_INVALID for missing layers, samples that do not fit together or no token after the `sinks`, NON_FINITE for
 * values outside f16.
 */
export async function samplesByLayer(
  samples: AsyncIterable<CalibrationSample>,
  sinks: number,
): Promise<CalibrationSample[][]> {
  const byLayer: CalibrationSample[][] = [];
  for await (const sample of samples) {
    if (!(Number.isSafeInteger(sample.layer) && sample.layer >= 0))
      throw refusal('the layer of a sample is not valid', sample.layer, 'an integer of at least 0');
    const others = byLayer[sample.layer] ?? [];
    checkSample(sample, others[0]);
    others.push(sample);
    byLayer[sample.layer] = others;
  }
  if (byLayer.length === 0) throw refusal('there is no calibration sample', 0, 'one per layer');
  for (const [layer, found] of Array.from(byLayer).entries()) {
    if (!(found ?? []).some(({ tokens }) => tokens > sinks))
      throw refusal(
        `layer ${layer} has no calibration sample of enough tokens`,
        found?.map(({ tokens }) => tokens) ?? 'no sample',
        `a sample of more than ${sinks} tokens of every layer`,
      );
  }
  return byLayer;
}

/** Channels of a head of a checked sample. */
export function headDimOf(sample: CalibrationSample, tensor: TensorName): number {
  return sample[tensor].length / (sample.tokens * sample.kvHeads);
}

function checkSample(sample: CalibrationSample, other: CalibrationSample | undefined): void {
  const { layer, tokens, kvHeads } = sample;
  for (const tensor of ['key', 'value'] as const) {
    const { length } = sample[tensor];
    const rows = tokens * kvHeads;
    const fits =
      Number.isSafeInteger(rows) && rows > 0 && length > 0 && length % rows === 0 && tokens > 0;
    const agrees =
      other === undefined ||
      (other.kvHeads === kvHeads && headDimOf(other, tensor) === headDimOf(sample, tensor));
    if (!(fits && agrees))
      throw refusal(
        `the ${tensor}s of a sample of layer ${layer} have the wrong size`,
        { tokens, kvHeads, elements: length },
        '[tokens, kvHeads, headDim], the same heads and head dim in every sample of a layer',
      );
    const wrong = sample[tensor].find((x) => !(Math.abs(roundToF16(x)) <= 65504));
    if (wrong !== undefined)
      throw new LowbitKvError('NON_FINITE', {
        message: 'a calibration sample holds a value that is not a finite f16',
        value: wrong,
        valid: 'finite numbers within -65504 and 65504',
        next: 'Leave this calibration run out, or find out why the model overflows.',
        where: { tensor, layer },
      });
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
