/**
 * What every scheme of a comparison shares: the capture in memory, the truth, and how the model is laid out.
 */
import { type Backend, LowbitKvError, type Pause, pauseFor } from '@lowbit-kv/core';
import { type CalibrationSource, pausedBetween, prefillCalibration } from './calibration-source.js';
import { type CaptureData, readCaptureData } from './capture-data.js';
import { captureError } from './capture-error.js';
import type { CompareOptions } from './compare-options.js';
import {
  DEFAULT_CAPTURE_MODEL_LAYERS,
  defaultCalibration,
  isDefaultCapture,
} from './default-capture-facts.js';
import { describeData } from './diagnosis.js';
import { type ExactAttention, exactAttention } from './exact-attention.js';
import type { LayerPlaces } from './layer-mapping.js';
import type { LayerData } from './report.js';

export interface CompareRun {
  readonly data: CaptureData;
  readonly facts: readonly LayerData[];
  readonly exact: readonly ExactAttention[];
  readonly places: LayerPlaces;
  readonly source: CalibrationSource;
  readonly options: CompareOptions;
  /** Between steps, layers and samples. */
  readonly pause: Pause;
}

/** Its device. Throws BACKEND_UNAVAILABLE. */
export async function requireBackend(backend: Backend): Promise<string> {
  const probe = await backend.probe();
  if (probe.ok) return probe.device;
  throw new LowbitKvError('BACKEND_UNAVAILABLE', {
    message: probe.reason,
    value: backend.id,
    valid: 'a backend that can start here',
    next: probe.next,
  });
}

/** Reads the capture and computes the truth. */
export async function prepareRun(options: CompareOptions): Promise<CompareRun> {
  const { capture } = options;
  const pause = pauseFor(options.signal);
  const data = await readCaptureData(capture, positionsOf(options), pause);
  const shipped = isDefaultCapture(capture);
  const exact: ExactAttention[] = [];
  for (const layer of data.layers) {
    await pause();
    exact.push(exactAttention({ ...layer.exact, query: layer.query }, data.sizes));
  }
  const source =
    options.calibrationSource ??
    (shipped ? await defaultCalibration(capture.layers, data) : prefillCalibration(data));
  return {
    data,
    facts: describeData(data),
    exact,
    places: {
      captured: capture.layers,
      modelLayers: modelLayersOf(options, shipped),
    },
    source: {
      note: source.note,
      samples: (stage) => pausedBetween(source.samples(stage), pause),
    },
    options,
    pause,
  };
}

function modelLayersOf({ capture, modelLayers }: CompareOptions, shipped: boolean): number | null {
  const least = (capture.layers.at(-1) as number) + 1;
  const valid = `an integer of at least ${least}: the capture holds layer ${least - 1}`;
  const fits = (value: number) => Number.isSafeInteger(value) && value >= least;
  if (modelLayers !== undefined) {
    if (fits(modelLayers)) return modelLayers;
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'modelLayers does not fit the capture',
      value: modelLayers,
      valid,
      next: 'Take the number of layers from the config.json of the model.',
      where: { field: 'modelLayers' },
    });
  }
  const text = capture.provenance.model_layers;
  if (text === undefined) return shipped ? DEFAULT_CAPTURE_MODEL_LAYERS : null;
  if (/^[0-9]{1,9}$/.test(text) && fits(Number(text))) return Number(text);
  throw captureError(capture.file, {
    reason: 'the metadata "model_layers" does not fit the capture',
    value: text,
    valid,
  });
}

/** Of 128 captured queries every third: an odd stride meets every phase of windows that pack 32 or 128 tokens at once. */
const DEFAULT_POSITIONS = 48;

function positionsOf({ positions = DEFAULT_POSITIONS }: CompareOptions): number {
  if (Number.isSafeInteger(positions) && positions > 0) return positions;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'positions must be a positive integer',
    value: positions,
    valid: 'an integer of at least 1',
    next: 'Leave it out for the default, or pass as many as the capture has.',
    where: { field: 'positions' },
  });
}
