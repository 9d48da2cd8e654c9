/**
 * The scheme contract: a KV-cache quantization scheme is one frozen plain object.
 *
 * Guarantees
 * - Everything but `calibrate` and `codecs` is JSON: a scheme serialises, and its fingerprint goes into every snapshot and
 *   report.
 * - Keys and values are declared separately; nothing is shared between them but sinks and the moment of packing.
 * - One decode rule covers every code set: `value = scale(group) * level(code) + zero(group)`, shifted by its band and
 *   seen through the inverse of its transforms. Bit-exact arithmetic: docs/law.md. What the rule cannot say is a codec.
 * - What a backend cannot execute it refuses with a reason before anything runs; no field is ever ignored.
 *
 * Words: a *token* is one position of a sequence; a *channel* is one of the `headDim` entries of a head;
 * a *group* is a run of elements that share parameters.
 */
import type { GroupCodec } from './codec.js';

export interface Scheme {
  readonly specVersion: 1;
  /** Unique in a registry: lower-case words joined by hyphens, for example `kivi-2bit-g32`. */
  readonly id: string;
  readonly title: string;
  /** Papers and code this follows, for example `arXiv:2402.02750`. */
  readonly references?: readonly string[];
  /** Names the authors' code that this reproduces, codes and parameters included, for example `kivi-fp16`. A label. */
  readonly compat?: string;
  /** The first tokens of a sequence that stay f16 for ever. */
  readonly sinks: number;
  /** Whether tokens that leave the window in a step are packed before or after the attention of that step. */
  readonly packing: 'before-attention' | 'after-attention';
  readonly key: TensorScheme;
  readonly value: TensorScheme;
  /** Later entries win. */
  readonly overrides?: readonly SchemeOverride[];
  readonly calibration: CalibrationNeed;
  /** Measures what `calibration: offline` asks for. Not part of the serialised scheme. */
  readonly calibrate?: (
    samples: AsyncIterable<CalibrationSample>,
  ) => Promise<readonly LayerCalibration[]>;
  /** The codecs that `quantizer.mode: 'codec'` names. Not part of the serialised scheme. */
  readonly codecs?: readonly GroupCodec[];
}

/** How one tensor (keys or values) is stored. `bits: 16` keeps f16 and takes no other field. */
export type TensorScheme = { readonly bits: 16 } | QuantizedTensorScheme;

export interface QuantizedTensorScheme {
  /** Width of a code. With a codec: its nominal width, told to readers only. */
  readonly bits: 1 | 2 | 3 | 4 | 8;
  readonly groups: GroupScheme;
  readonly quantizer: Quantizer;
  /** `scale` is absent where groups store none: tables scaled by `none`, and codecs. `zero` only where there is one. */
  readonly parameters: { readonly scale?: ParameterType; readonly zero?: 'f16' | 'f32' };
  /** After every step at least the `recent` newest tokens are f16 (once there are that many); `flush` are packed at once. */
  readonly window: { readonly recent: number; readonly flush: number };
  readonly outliers?: OutlierBands | TopOutliers;
  /**
   * Applied in order before quantization; attention applies the inverses to the query (keys) or the output (values), and
   * to each decoded key where keys are held before the rotary embedding.
   */
  readonly transforms?: readonly Transform[];
  /**
   * Keys only: whether they are appended and held after (default) or before the rotary embedding. Before it, attention
   * rotates them to their positions as `rotary` of the geometry says; queries come rotated in either case.
   */
  readonly stage?: 'post-rope' | 'pre-rope';
}

/**
 * `tokens`: one channel, `size` consecutive tokens (KIVI keys). `channels`: one token, `size` consecutive channels of a
 * head (KIVI values). `vector`: one token, all channels of a head, or of all kv heads of the layer.
 */
export type GroupScheme =
  | { readonly along: 'tokens' | 'channels'; readonly size: number }
  | { readonly along: 'vector'; readonly scope: 'head' | 'allHeads' };

/**
 * `asymmetric`: unsigned codes, zero = the group minimum. `symmetric`: no zero; `signmag` has 2^bits - 1 levels,
 * `full` is two's complement with scale max|x| / 2^(bits-1), `fullSigned` puts the largest magnitude on the most negative
 * code by a signed scale, `midRise` is sign and magnitude with levels in the middle of their cells.
 * `hybrid`: per group, symmetric or asymmetric (at `asymmetricBits`) by the smaller error; the sign bit of the scale
 * says which (1 = asymmetric). A level table lists the real values of the codes before scaling; with a zero its first
 * level is 0. `codec`: encode and decode of a group are functions of the scheme; its bytes replace codes and parameters.
 */
export type Quantizer =
  | { readonly mode: 'asymmetric'; readonly codes: 'uniform' | LevelTable }
  | {
      readonly mode: 'symmetric';
      readonly codes: 'signmag' | 'full' | 'fullSigned' | 'midRise' | LevelTable;
    }
  | {
      readonly mode: 'hybrid';
      readonly codes: 'signmag' | 'full';
      readonly asymmetricBits: number;
      readonly norm: 'l1';
      readonly tie: 'symmetric' | 'asymmetric';
    }
  | {
      readonly mode: 'codec';
      /** Id of the codec. */
      readonly codes: string;
      readonly version: number;
      /** Bytes of one encoded group. */
      readonly groupBytes: number;
    };

export interface LevelTable {
  /** Rising, at most 2^bits; `calibrated`: each layer and tensor has its own from offline calibration. */
  readonly levels: readonly number[] | 'calibrated';
  /**
   * What the scale of a group is: its largest magnitude (with a zero: its range) over the largest level, its root mean
   * square, or `none`: no scale is stored and the levels are the values that transforms left.
   */
  readonly scaledBy: 'absoluteMaximum' | 'rootMeanSquare' | 'none';
}

/** `e4m3` is OCP FP8 E4M3 (largest 448), `e8m0` a power of two (OCP MX v1.0). Both only for scales without a sign. */
export type ParameterType = 'f16' | 'f32' | 'e4m3' | 'e8m0';

/**
 * Magnitude bands (Oaken). Outer and inner values leave the middle band, are shifted by its thresholds, coded with
 * `outlierBits` and stored sparsely beside the dense codes; `quantizer` describes the middle band.
 */
export interface OutlierBands {
  readonly kind: 'bands';
  /** Shares of outer, middle and inner values that calibration aims at. */
  readonly shares: { readonly outer: number; readonly middle: number; readonly inner: number };
  readonly groupShift: boolean;
  readonly outlierBits: 5;
  /**
   * `coo64`: one byte per outlier; `bitmap64`: a bit per channel and two per outlier. Both in chunks of 64 channels;
   * room for `reserve` outliers per chunk, on average over a block, is set aside.
   */
  readonly storage: { readonly format: 'coo64' | 'bitmap64'; readonly reserve: number };
}

/**
 * The `count` largest magnitudes of each token of a head, after the transforms, stay f16 beside the codes (KVQuant): a
 * fixed list of values and channels per token. Groups are measured without them.
 */
export interface TopOutliers {
  readonly kind: 'top';
  readonly count: number;
  readonly storage: { readonly format: 'list' };
}

export type Transform = TensorScale | ChannelScale | ChannelMean | ChannelOrder | Hadamard;

/**
 * Divides everything by one factor. Scope `sequence`: the largest magnitude over all heads of the first
 * `statisticsTokens` tokens after the sinks becomes `largest` (NVFP4, FP8). Scope `model`: from offline calibration.
 */
export type TensorScale =
  | { readonly kind: 'tensorScale'; readonly scope: 'model' }
  | {
      readonly kind: 'tensorScale';
      readonly scope: 'sequence';
      readonly statisticsTokens: number;
      readonly largest: number;
    };

/**
 * Divides each channel by a factor n. Scope `sequence` (InnerQ): n = sqrt(max |x|) over the first `statisticsTokens`
 * tokens after the sinks. Scope `model`: n comes from offline calibration.
 */
export type ChannelScale =
  | { readonly kind: 'channelScale'; readonly scope: 'model' }
  | {
      readonly kind: 'channelScale';
      readonly scope: 'sequence';
      readonly statistic: 'rootAbsoluteMaximum';
      readonly statisticsTokens: number;
      /** n is clamped to this range; 1 where the channel is all zero. */
      readonly clamp: readonly [number, number];
      /** All n of a head are 1 when max n / median n is below this ratio. */
      readonly minimumSpread: number;
    };

/** Subtracts a mean per channel: of the first `statisticsTokens` tokens after the sinks, or calibrated. */
export type ChannelMean =
  | { readonly kind: 'channelMean'; readonly scope: 'model' }
  | {
      readonly kind: 'channelMean';
      readonly scope: 'sequence';
      readonly statisticsTokens: number;
      /** A channel keeps mean 0 unless |mean| is at least this multiple of its mean absolute deviation. Default 0. */
      readonly minimumOffset?: number;
    };

/** Permutes the channels of a head by a calibrated order, so that groups hold alike channels. */
export interface ChannelOrder {
  readonly kind: 'channelOrder';
  readonly scope: 'model';
}

/** Orthonormal Hadamard rotation over the channels of a head (a power of two), after a sign per channel drawn from `seed`. */
export interface Hadamard {
  readonly kind: 'hadamard';
  /** 0 to 2^32 - 1. Absent: no signs. */
  readonly seed?: number;
}

/**
 * Replaces the tensor schemes of some layers (negative numbers count from the last) or of some of their kv heads. Heads that
 * end up with other schemes than their neighbours are stored apart, so nothing may be shared over all heads then: no
 * parameters, no tensor scale of the sequence, no second stage of keys.
 */
export interface SchemeOverride {
  readonly layers: readonly number[];
  readonly heads?: readonly number[];
  readonly key?: TensorScheme;
  readonly value?: TensorScheme;
}

/** `prefill`: statistics of the sequence itself; `offline`: values measured once per model, kept beside the scheme. */
export type CalibrationNeed =
  | { readonly kind: 'none' }
  | { readonly kind: 'prefill' }
  | { readonly kind: 'offline'; readonly values: readonly CalibrationValue[] };

export type CalibrationValue = keyof TensorCalibration;

/** Keys and values of one layer in one calibration run: f32, `[tokens, kvHeads, headDim]`. */
export interface CalibrationSample {
  readonly layer: number;
  readonly tokens: number;
  readonly kvHeads: number;
  readonly key: Float32Array;
  readonly value: Float32Array;
}

/** Calibrated values of one layer, in the order of the layers of the geometry. */
export interface LayerCalibration {
  readonly key?: TensorCalibration;
  readonly value?: TensorCalibration;
}

export interface TensorCalibration {
  /** Band edges, f16 values: outer is `x <= outerLow or x >= outerHigh`, inner is `innerLow < x < innerHigh`. */
  readonly thresholds?: {
    readonly outerLow: number;
    readonly outerHigh: number;
    readonly innerLow: number;
    readonly innerHigh: number;
  };
  readonly levels?: readonly number[];
  /** Everything is divided by it. */
  readonly tensorFactor?: number;
  /** `[kvHeads][headDim]`; channels are divided by them. */
  readonly channelFactors?: readonly (readonly number[])[];
  readonly channelMeans?: readonly (readonly number[])[];
  /** Channel c of the result is channel `order[c]` of the token. */
  readonly channelOrder?: readonly (readonly number[])[];
}

/** Offline calibration as it is serialised beside a scheme. */
export interface Calibration {
  readonly specVersion: 1;
  /** Fingerprint of the scheme these values were measured for. */
  readonly scheme: string;
  /** Model, text, token count: whatever tells a reader where the values come from. */
  readonly provenance: Readonly<Record<string, string>>;
  readonly layers: readonly LayerCalibration[];
}
