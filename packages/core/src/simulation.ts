/**
 * The simulation contract: what published code does to keys and values where that is no storage format, because its
 * ranges span a whole forward or it keeps information that it never stores. A simulation has no packed bytes and runs on
 * no backend; it says which keys and values attention would see. For studies next to real schemes, and marked as such.
 */
import type { LayerCalibration, Scheme } from './scheme.js';

export interface SchemeSimulation {
  /** Lower-case words joined by hyphens, for example `name-authors-variant`. */
  readonly id: string;
  readonly title: string;
  /** Papers and code this follows. */
  readonly references: readonly string[];
  /** Keys that `append` takes and `keys` returns. */
  readonly stage: 'post-rope' | 'pre-rope';
  /** Measures what `SimulationShape.calibration` must hold, from samples at the same stage. Absent: nothing is needed. */
  readonly calibrate?: NonNullable<Scheme['calibrate']>;
  /** State of one sequence in one layer. Throws CALIBRATION_MISSING, or SHAPE_UNSUPPORTED for groups that do not fit. */
  createLayer(shape: SimulationShape): LayerSimulation;
}

export interface SimulationShape {
  /** Model layer, for error messages. */
  readonly layer: number;
  readonly kvHeads: number;
  readonly keyHeadDim: number;
  readonly valueHeadDim: number;
  readonly calibration?: LayerCalibration;
}

export interface LayerSimulation {
  /**
   * One forward call: f16 bits, `[tokens, kvHeads, headDim]`. Throws TENSOR_INVALID for sizes that do not agree. How a
   * prompt is cut into calls may change the result, as it does in the original.
   */
  append(key: Uint16Array, value: Uint16Array): void;
  /**
   * All keys so far as attention of a decoding step sees them after its `append`, `[tokens, kvHeads, keyHeadDim]`; may
   * hold NaN. A copy.
   */
  keys(): Float32Array;
  /** As `keys`. */
  values(): Float32Array;
  counts(): { readonly key: SimulatedCounts; readonly value: SimulatedCounts };
}

/** Tokens by how the original holds them; their sum is the number of tokens appended. */
export interface SimulatedCounts {
  readonly sinks: number;
  readonly quantized: number;
  readonly recent: number;
}
