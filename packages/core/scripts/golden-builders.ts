/**
 * Builders of golden cases: shapes with padding, cut groups and unused slots.
 */
import type { QuantizedTensorScheme, TensorCalibration } from '../src/index.js';
import type { NormalRecipe } from '../src/testing/index.js';

export type Thresholds = NonNullable<TensorCalibration['thresholds']>;
export type Quantizer = QuantizedTensorScheme['quantizer'];
export type Recipe = Omit<NormalRecipe<'f16'>, 'shape' | 'dtype'>;

export interface GoldenCase {
  readonly name: string;
  readonly heads: number;
  readonly headDim: number;
  readonly blockTokens: number;
  /** Tokens packed; the page is then cut to `validTokens`. */
  readonly packedTokens: number;
  readonly validTokens: number;
  readonly tensor: QuantizedTensorScheme;
  readonly thresholds: Thresholds | null;
  /** Of the f16 tokens `[packedTokens, heads, headDim]`. */
  readonly recipe: Recipe;
}

export const UNIFORM: Quantizer = { mode: 'asymmetric', codes: 'uniform' };

export function symmetric(codes: 'signmag' | 'full' | 'fullSigned'): Quantizer {
  return { mode: 'symmetric', codes };
}

export function tensorOf(
  bits: QuantizedTensorScheme['bits'],
  groups: QuantizedTensorScheme['groups'],
  quantizer: Quantizer,
): QuantizedTensorScheme {
  return {
    bits,
    groups,
    quantizer,
    parameters: quantizer.mode === 'symmetric' ? { scale: 'f16' } : { scale: 'f16', zero: 'f16' },
    window: { recent: 0, flush: groups.along === 'tokens' ? groups.size : 1 },
  };
}

/** 64 slots, cut to 43 tokens: inside a group, and inside a byte for every width but 8. */
export function alongTokens(
  name: string,
  bits: QuantizedTensorScheme['bits'],
  quantizer: Quantizer,
  recipe: Recipe,
): GoldenCase {
  return {
    name: `${name}-${bits}bit-tokens`,
    heads: 2,
    headDim: 8,
    blockTokens: 64,
    packedTokens: 64,
    validTokens: 43,
    tensor: tensorOf(bits, { along: 'tokens', size: 32 }, quantizer),
    thresholds: null,
    recipe,
  };
}

/** 40 channels in two groups: 3-bit rows end in padding. 16 slots, 11 used. */
export function alongChannels(
  name: string,
  bits: QuantizedTensorScheme['bits'],
  quantizer: Quantizer,
  recipe: Recipe,
): GoldenCase {
  return {
    name: `${name}-${bits}bit-channels`,
    heads: 2,
    headDim: 40,
    blockTokens: 16,
    packedTokens: 11,
    validTokens: 11,
    tensor: tensorOf(bits, { along: 'channels', size: 20 }, quantizer),
    thresholds: null,
    recipe,
  };
}

export function wholeVector(
  name: string,
  bits: QuantizedTensorScheme['bits'],
  quantizer: Quantizer,
  recipe: Recipe,
): GoldenCase {
  const base = alongChannels(name, bits, quantizer, recipe);
  return {
    ...base,
    name: `${name}-${bits}bit-vector`,
    tensor: tensorOf(bits, { along: 'vector', scope: 'head' }, quantizer),
  };
}
