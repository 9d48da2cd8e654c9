/**
 * Bits per element as papers count them: dense codes, parameters and outlier entries, without windows, offsets and
 * padding. What a plan really stores is in accounting.ts.
 */
import { LowbitKvError } from '../errors.js';
import type { TensorScheme } from '../scheme.js';
import { PARAMETER_BYTES } from './layout.js';

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
 * Groups: bits + parameter bits / group size. Codecs: bits of an encoded group / group size. Bands: bits + 8 x outlier share + 96 / vector width, whatever the middle
 * codes store. Throws PLAN_REFUSED for sparse f16 outliers, which papers count in different ways.
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
  if (outliers !== undefined) {
    throw new LowbitKvError('PLAN_REFUSED', {
      message: 'papers count sparse f16 outliers in different ways',
      value: outliers.kind,
      valid: ['bands'],
      next: 'Leave the outliers out, or count them yourself.',
    });
  }
  const groupSize = groups.along === 'vector' ? vectorWidth : groups.size;
  if (quantizer.mode === 'codec') return (8 * quantizer.groupBytes) / groupSize;
  const types = [parameters.scale, parameters.zero].filter((type) => type !== undefined);
  const parameterBits = types.reduce((sum, type) => sum + 8 * PARAMETER_BYTES[type], 0);
  return bits + parameterBits / groupSize;
}
