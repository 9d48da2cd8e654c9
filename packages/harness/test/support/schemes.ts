/** Small schemes for tests, built inline: the harness knows no scheme package. */
import {
  type CalibrationSample,
  defineScheme,
  type LayerCalibration,
  type Scheme,
  type TensorScheme,
} from '@lowbit-kv/core';

export function affine(
  bits: 2 | 4 | 8,
  along: 'tokens' | 'channels',
  size: number,
  window: { recent: number; flush: number },
): TensorScheme {
  return {
    bits,
    groups: { along, size },
    quantizer: { mode: 'asymmetric', codes: 'uniform' },
    parameters: { scale: 'f16', zero: 'f16' },
    window,
  };
}

export function scheme(
  id: string,
  key: TensorScheme,
  value: TensorScheme,
  more: Partial<Scheme> = {},
): Scheme {
  return defineScheme({
    specVersion: 1,
    id,
    title: id,
    sinks: 0,
    packing: 'after-attention',
    key,
    value,
    calibration: { kind: 'none' },
    ...more,
  });
}

/** Keys along tokens, values along channels, as KIVI has them; windows short enough for small captures. */
export function channelwise(id: string, bits: 2 | 4 | 8, more: Partial<Scheme> = {}): Scheme {
  return scheme(
    id,
    affine(bits, 'tokens', 32, { recent: 0, flush: 32 }),
    affine(bits, 'channels', 32, { recent: 16, flush: 1 }),
    more,
  );
}

/** Magnitude bands with thresholds measured offline; `seen` collects what the calibration was given. */
export function bandScheme(id: string, seen: CalibrationSample[] = []): Scheme {
  const tensor = {
    bits: 4,
    groups: { along: 'vector', scope: 'head' },
    quantizer: { mode: 'symmetric', codes: 'midRise' },
    parameters: { scale: 'f16' },
    window: { recent: 0, flush: 1 },
    outliers: {
      kind: 'bands',
      shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
      groupShift: true,
      outlierBits: 5,
      storage: { format: 'coo64', reserve: 48 },
    },
  } as const;
  return scheme(id, tensor, tensor, {
    calibration: { kind: 'offline', values: ['thresholds'] },
    calibrate: async (samples) => {
      const layers: LayerCalibration[] = [];
      for await (const sample of samples) {
        seen.push(sample);
        // The first run of each layer is enough here.
        layers[sample.layer] ??= { key: edges(sample.key), value: edges(sample.value) };
      }
      return layers;
    },
  });
}

function edges(values: Float32Array) {
  const sorted = values.toSorted();
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] as number;
  const thresholds = {
    outerLow: at(0.02),
    outerHigh: at(0.98),
    innerLow: at(0.47),
    innerHigh: at(0.53),
  };
  return { thresholds };
}
