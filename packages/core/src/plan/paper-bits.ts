/**
 * Bits per element as papers count them: dense codes, parameters and outlier entries, without windows, offsets and
 * padding. What a plan really stores is in accounting.ts.
 */
import type { QuantizedTensorScheme, TensorScheme } from '../scheme.js';
import { channelBytes, PARAMETER_BYTES } from './layout.js';

export interface PaperShape {
  readonly kvHeads: number;
  readonly headDim: number;
  /** Share of elements outside the middle band. Default: what the scheme aims at. */
  readonly outlierShare?: number;
}

/** Six f16 parameters per vector: minimum and step of three bands. */
const BAND_PARAMETER_BITS = 6 * 16;
const BAND_ENTRY_BITS = 8;

/**
 * Groups: bits + parameter bits / group size. Codecs: bits of an encoded group / group size. Bands: bits + 8 x outlier
 * share + 96 / vector width, whatever the middle codes store. Top outliers: 16 bits of each value and 8 of its channel (16
 * above 256 channels) besides.
 */
export function paperBitsPerElement(scheme: TensorScheme, shape: PaperShape): number {
  if (scheme.bits === 16) return 16;
  const { bits, groups, quantizer, parameters, outliers } = scheme;
  const vectorWidth =
    groups.along === 'vector' && groups.scope === 'allHeads'
      ? shape.kvHeads * shape.headDim
      : shape.headDim;
  if (outliers?.kind === 'bands') {
    const share = shape.outlierShare ?? outliers.shares.outer + outliers.shares.inner;
    return bits + share * BAND_ENTRY_BITS + BAND_PARAMETER_BITS / vectorWidth;
  }
  const groupSize = groups.along === 'vector' ? vectorWidth : groups.size;
  if (quantizer.mode === 'codec') return (8 * quantizer.groupBytes) / groupSize;
  const types = [parameters.scale, parameters.zero].filter((type) => type !== undefined);
  const parameterBits = types.reduce((sum, type) => sum + 8 * PARAMETER_BYTES[type], 0);
  return bits + parameterBits / groupSize + topBits(outliers, shape.headDim);
}

function topBits(outliers: QuantizedTensorScheme['outliers'], headDim: number): number {
  if (outliers?.kind !== 'top') return 0;
  return (outliers.count * (16 + 8 * channelBytes(headDim))) / headDim;
}
