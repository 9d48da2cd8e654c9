/**
 * Captured layers are some layers of a model, and a replay numbers them from 0: what a scheme and its calibration say
 * about layers of the model is carried over to those places.
 */
import {
  type Calibration,
  LowbitKvError,
  movedError,
  type Scheme,
  type SchemeData,
  type SchemeOverride,
  schemeDataOf,
  schemeFingerprint,
} from '@lowbit-kv/core';
import { refusalOf } from './refusals.js';

export interface LayerPlaces {
  /** Layer numbers of the model, ascending. */
  readonly captured: readonly number[];
  /** Null when unknown: negative numbers in overrides then count from the last captured layer. */
  readonly modelLayers: number | null;
}

/** The scheme with overrides numbered by place; unchanged, fingerprint included, when it has none. */
export function schemeForReplay(scheme: Scheme, places: LayerPlaces): Scheme {
  const { codecs } = scheme;
  const data = { ...schemeDataOf(scheme), ...(codecs === undefined ? {} : { codecs }) };
  if (data.overrides === undefined) return data;
  const overrides: SchemeOverride[] = [];
  for (const override of data.overrides) {
    const numbers = override.layers.map((number) => modelLayer(number, places));
    const layers = [...places.captured.keys()].filter((place) =>
      numbers.includes(places.captured[place] as number),
    );
    if (layers.length > 0) overrides.push({ ...override, layers });
  }
  return { ...data, overrides };
}

function modelLayer(number: number, { captured, modelLayers }: LayerPlaces): number {
  const layers = modelLayers ?? (captured.at(-1) as number) + 1;
  const layer = number < 0 ? number + layers : number;
  if (layer >= 0 && layer < layers) return layer;
  throw new LowbitKvError('GEOMETRY_INVALID', {
    message:
      modelLayers === null
        ? 'an override names a layer past the last captured one, and how many the model has is unknown'
        : 'an override names a layer that the model does not have',
    value: number,
    valid: `${-layers} to ${layers - 1}`,
    next:
      modelLayers === null
        ? 'Say how many layers the model has: metadata model_layers of the capture, or --model-layers.'
        : 'Correct the override.',
  });
}

/**
 * What a replay threw, with the layer of the model in place of that of the replay. Only of refusals: what reading a capture
 * throws has the layer of the model already.
 */
export function inModelLayers(error: unknown, { captured }: LayerPlaces): unknown {
  if (!LowbitKvError.is(error) || refusalOf(error) === null) return error;
  const layer = captured[error.where?.layer ?? -1];
  return layer === undefined ? error : movedError(error, { layer });
}

/** A calibration of the scheme made to fit its replay. Throws CALIBRATION_INVALID. */
export function calibrationForReplay(
  given: Calibration,
  scheme: Scheme,
  replayed: SchemeData,
  places: LayerPlaces,
): Calibration {
  const refuse = (message: string, value: unknown, valid: string): never => {
    throw new LowbitKvError('CALIBRATION_INVALID', {
      message,
      value,
      valid,
      next: 'Calibrate again for this scheme and model.',
    });
  };
  const expected = schemeFingerprint(scheme);
  if (given.scheme !== expected)
    refuse('the calibration was made for another scheme', given.scheme, expected);
  const { captured, modelLayers } = places;
  const wholeModel = given.layers.length === modelLayers;
  if (!wholeModel && given.layers.length !== captured.length) {
    refuse(
      'the calibration has another number of layers',
      given.layers.length,
      `the ${captured.length} captured layers${modelLayers === null ? '' : `, or the ${modelLayers} of the model`}`,
    );
  }
  const layers = wholeModel
    ? captured.map((layer) => given.layers[layer] as Calibration['layers'][number])
    : given.layers;
  return { ...given, scheme: schemeFingerprint(replayed), layers };
}

/** A calibration for every layer of the model: each takes the values of the nearest captured one. For sizes only. */
export function stretchCalibration(
  calibration: Calibration,
  scheme: SchemeData,
  places: LayerPlaces & { readonly modelLayers: number },
): Calibration {
  const layers = Array.from({ length: places.modelLayers }, (_, layer) => {
    const distances = places.captured.map((captured) => Math.abs(captured - layer));
    return calibration.layers[distances.indexOf(Math.min(...distances))] ?? {};
  });
  return { ...calibration, scheme: schemeFingerprint(scheme), layers };
}
