/**
 * One layer in the cache of the InnerQ repository (mthcom/innerq at edfb965), bit for bit.
 *
 * Where it is no scheme: the recent part of values drains to 0..31 tokens, sinks grow only in the first call, a call gives
 * up one flush whatever it brings, keys are divided by channel factors in f16, and the factors come from the tokens that
 * are quantized first, one token in the worst case. An exact 0 there makes the key channel's group NaN for good.
 */
import {
  type LayerSimulation,
  LowbitKvError,
  type SimulatedCounts,
  type SimulationShape,
  tokensOfForward,
} from '@lowbit-kv/core';
import {
  GROUP_SIZE,
  type RepositoryGroup,
  RepositoryTensor,
  type RepositoryTensorSettings,
} from './repository-tensor.js';

export interface InnerqRepositorySettings {
  /** Tokens of the first call that stay f16 for ever. */
  readonly sinks: number;
  /** Most tokens of the first call that stay f16 for now. */
  readonly recent: number;
  readonly key: RepositoryTensorSettings;
  readonly value: RepositoryTensorSettings;
  readonly normalizeKeys: boolean;
}

export class InnerqRepositoryLayer implements LayerSimulation {
  readonly #shape: SimulationShape;
  readonly #key: RepositoryTensor;
  readonly #value: RepositoryTensor;

  /** Throws SHAPE_UNSUPPORTED for a head dim of broken groups. */
  constructor(settings: InnerqRepositorySettings, shape: SimulationShape) {
    const { kvHeads, keyHeadDim, valueHeadDim } = shape;
    checkHeadDim('key', settings.key.along, keyHeadDim, shape.layer);
    checkHeadDim('value', settings.value.along, valueHeadDim, shape.layer);
    this.#shape = shape;
    const { normalizeKeys } = settings;
    this.#key = new RepositoryTensor(settings.key, settings, normalizeKeys, kvHeads, keyHeadDim);
    this.#value = new RepositoryTensor(settings.value, settings, false, kvHeads, valueHeadDim);
  }

  append(key: Uint16Array, value: Uint16Array): void {
    tokensOfForward(this.#shape, key, value);
    this.#key.append(key);
    this.#value.append(value);
  }

  keys(): Float32Array {
    return this.#key.values;
  }

  values(): Float32Array {
    return this.#value.values;
  }

  counts(): { readonly key: SimulatedCounts; readonly value: SimulatedCounts } {
    return { key: this.#key.counts, value: this.#value.counts };
  }

  /** n by which keys are divided, `[kvHeads, keyHeadDim]`; null before any key is quantized and without normalization. */
  keyFactors(): Float32Array | null {
    return this.#key.factors?.slice() ?? null;
  }

  /** Quantized groups of a head: `[token, group]` along channels, `[group, channel]` along tokens. */
  groups(tensor: 'key' | 'value', head: number): readonly RepositoryGroup[] {
    return (tensor === 'key' ? this.#key : this.#value).groups[head] ?? [];
  }
}

function checkHeadDim(tensor: string, along: string, headDim: number, layer: number): void {
  if (along === 'tokens' || headDim % GROUP_SIZE === 0) return;
  throw new LowbitKvError('SHAPE_UNSUPPORTED', {
    message: `the repository's groups do not divide the head dim of the ${tensor}s`,
    value: headDim,
    valid: `a multiple of ${GROUP_SIZE}`,
    next: 'Leave this simulation out for this model.',
    where: { tensor, layer },
  });
}
