/** What a comparison takes. */
import type { Backend, Calibration, Scheme, SchemeSimulation } from '@lowbit-kv/core';
import type { CalibrationSource } from './calibration-source.js';
import type { Capture } from './capture.js';
import type { PartStore } from './work/part-store.js';

export interface CompareOptions {
  readonly capture: Capture;
  /** Rows of the report, in this order, after f16. Ids must differ; `f16` is taken. */
  readonly schemes: readonly Scheme[];
  /** Rows after those of the schemes. */
  readonly simulations?: readonly SchemeSimulation[];
  readonly backend: Backend;
  /** Offline calibrations by scheme id, for the captured layers or for all layers of the model. */
  readonly calibrations?: Readonly<Record<string, Calibration>>;
  /** Where the others are measured. Default: the held-out sample for the default capture, else the capture's own prefill. */
  readonly calibrationSource?: CalibrationSource;
  /** Layers of the whole model. Default: the metadata `model_layers` of the capture. */
  readonly modelLayers?: number;
  /** Captured query positions that are attended, evenly spaced up to the last; at most those there are. Default 48. */
  readonly positions?: number;
  /** Let the backend emulate plans it has no kernels for. Default false. */
  readonly allowEmulation?: boolean;
  /** Finished rows, so that an interrupted comparison resumes. Default: none. Simulations are not kept. */
  readonly store?: PartStore;
  /** What rows depend on beside the options, such as versions: goes into the keys of the store. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly onProgress?: (progress: CompareProgress) => void;
  /** Stops the run within a step of a replay, with the signal's reason; finished rows stay in the store. */
  readonly signal?: AbortSignal;
}

/** `step` of `steps` of the replay of one scheme; `scheme` of `schemes` counts from 0 and includes f16 and simulations. */
export interface CompareProgress {
  readonly id: string;
  readonly scheme: number;
  readonly schemes: number;
  readonly step: number;
  readonly steps: number;
}
