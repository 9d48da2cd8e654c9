/**
 * Oaken's artifact (the authors' history in oyeong011/oaken at e0bfbf0) as a simulation: every forward is fake-quantized
 * by itself, keys before the rotary embedding.
 */
import {
  f16ToF32,
  type LayerCalibration,
  type LayerSimulation,
  LowbitKvError,
  type OutlierBands,
  type SchemeSimulation,
  type SimulationShape,
  tokensOfForward,
} from '@lowbit-kv/core';
import { calibrateThresholds } from '../calibrate.js';
import { DEFAULT_SHARES } from '../oaken.js';
import {
  type ArtifactThresholds,
  fakeQuantize,
  type OakenArtifactVariant,
} from './fake-quantization.js';

export interface OakenArtifactOptions {
  /** Default `full`. */
  readonly variant?: OakenArtifactVariant;
  /** Shares of outer, middle and inner values that calibration aims at. Default 0.04, 0.90, 0.06. */
  readonly shares?: OutlierBands['shares'];
  /** Which keys it is fed: the artifact takes them before the rotary embedding (default). */
  readonly stage?: 'post-rope' | 'pre-rope';
}

/** A simulation that needs calibrated thresholds; `createLayer` throws CALIBRATION_MISSING without. */
export function oakenArtifact(options: OakenArtifactOptions = {}): SchemeSimulation {
  const { variant = 'full', shares = DEFAULT_SHARES, stage = 'pre-rope' } = options;
  const parts = ['oaken-artifact'];
  if (variant !== 'full') parts.push(variant);
  if (stage !== 'pre-rope') parts.push(stage);
  return Object.freeze({
    id: parts.join('-'),
    title: `Oaken artifact, ${variant}, ${stage} keys`,
    references: ['arXiv:2503.18599', 'https://github.com/casys-kaist/Oaken'],
    stage,
    calibrate: (samples) => calibrateThresholds(samples, shares),
    createLayer: (shape) => new ArtifactLayer(shape, variant),
  } satisfies SchemeSimulation);
}

class ArtifactLayer implements LayerSimulation {
  readonly #shape: SimulationShape;
  readonly #variant: OakenArtifactVariant;
  readonly #thresholds: Record<'key' | 'value', ArtifactThresholds>;
  readonly #keys: Float32Array[] = [];
  readonly #values: Float32Array[] = [];
  #tokens = 0;

  constructor(shape: SimulationShape, variant: OakenArtifactVariant) {
    this.#shape = shape;
    this.#variant = variant;
    this.#thresholds = {
      key: thresholdsFor('key', shape.calibration, shape.layer),
      value: thresholdsFor('value', shape.calibration, shape.layer),
    };
  }

  append(key: Uint16Array, value: Uint16Array): void {
    const { kvHeads, keyHeadDim, valueHeadDim } = this.#shape;
    const tokens = tokensOfForward(this.#shape, key, value);
    const quantized = (bits: Uint16Array, headDim: number, thresholds: ArtifactThresholds) =>
      fakeQuantize(Float32Array.from(bits, f16ToF32), kvHeads * headDim, thresholds, this.#variant);
    this.#keys.push(quantized(key, keyHeadDim, this.#thresholds.key));
    this.#values.push(quantized(value, valueHeadDim, this.#thresholds.value));
    this.#tokens += tokens;
  }

  keys(): Float32Array {
    return joined(this.#keys);
  }

  values(): Float32Array {
    return joined(this.#values);
  }

  counts() {
    const all = { sinks: 0, quantized: this.#tokens, recent: 0 };
    return { key: all, value: all };
  }
}

function thresholdsFor(
  tensor: 'key' | 'value',
  calibration: LayerCalibration | undefined,
  layer: number,
): ArtifactThresholds {
  const thresholds = calibration?.[tensor]?.thresholds;
  if (thresholds !== undefined) return thresholds;
  throw new LowbitKvError('CALIBRATION_MISSING', {
    message: `the simulation of the artifact needs thresholds of the ${tensor}s`,
    value: calibration,
    valid: 'calibrated thresholds of keys and values',
    next: 'Measure them with `calibrate` of the simulation and pass those of the layer.',
    where: { tensor, layer },
  });
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export const simulations: readonly SchemeSimulation[] = Object.freeze([
  oakenArtifact(),
  oakenArtifact({ variant: 'no-shift' }),
  oakenArtifact({ variant: 'middle-only' }),
  oakenArtifact({ stage: 'post-rope' }),
]);
