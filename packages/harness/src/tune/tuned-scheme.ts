/**
 * An allocation as a scheme: one pair for layers that were not captured, overrides for those that were.
 */
import {
  type Calibration,
  calibrationNeedOf,
  defineScheme,
  type LayerCalibration,
  type Scheme,
  type SchemeOverride,
  schemeFingerprint,
} from '@lowbit-kv/core';
import type { Candidate, TuneWindows } from './candidates.js';

export interface Pair {
  readonly key: Candidate;
  readonly value: Candidate;
}

export interface TunedScheme {
  readonly scheme: Scheme;
  /** Of the captured layers; null when nothing is calibrated. */
  readonly calibration: Calibration | null;
}

export interface TunedSchemeParts {
  readonly id: string;
  readonly title: string;
  readonly windows: TuneWindows;
  /** For layers that were not captured; not calibrated. */
  readonly elsewhere: Pair;
  /** By number in the model. */
  readonly layers: readonly { readonly layer: number; readonly pair: Pair }[];
  readonly provenance: Readonly<Record<string, string>>;
}

export function tunedScheme(parts: TunedSchemeParts): TunedScheme {
  const { id, title, windows, elsewhere, layers, provenance } = parts;
  const pairs = [elsewhere, ...layers.map(({ pair }) => pair)];
  const calibrationNeed = calibrationNeedOf(
    pairs.flatMap(({ key, value }) => [key.scheme, value.scheme]),
  );
  const overrides = overridesOf(parts);
  const scheme = defineScheme({
    specVersion: 1,
    id,
    title,
    sinks: windows.sinks,
    packing: 'before-attention',
    key: elsewhere.key.scheme,
    value: elsewhere.value.scheme,
    ...(overrides.length === 0 ? {} : { overrides }),
    calibration: calibrationNeed,
  });
  if (calibrationNeed.kind !== 'offline') return { scheme, calibration: null };
  return {
    scheme,
    calibration: {
      specVersion: 1,
      scheme: schemeFingerprint(scheme),
      provenance,
      layers: layers.map(({ pair: { key, value } }, place): LayerCalibration => {
        const keyValues = key.calibration?.[place];
        const valueValues = value.calibration?.[place];
        return {
          ...(keyValues === undefined ? {} : { key: keyValues }),
          ...(valueValues === undefined ? {} : { value: valueValues }),
        };
      }),
    },
  };
}

/** Layers of one pair share an override; what is as elsewhere needs none. */
function overridesOf({ elsewhere, layers }: TunedSchemeParts): SchemeOverride[] {
  const groups: { pair: Pair; layers: number[] }[] = [];
  for (const { layer, pair } of layers) {
    const same = groups.find(
      (group) => group.pair.key === pair.key && group.pair.value === pair.value,
    );
    if (same === undefined) groups.push({ pair, layers: [layer] });
    else same.layers.push(layer);
  }
  return groups.flatMap(({ pair, layers: numbers }) => {
    const key = pair.key === elsewhere.key ? {} : { key: pair.key.scheme };
    const value = pair.value === elsewhere.value ? {} : { value: pair.value.scheme };
    const changed = 'key' in key || 'value' in value;
    return changed ? [{ layers: numbers, ...key, ...value }] : [];
  });
}
