/**
 * The group quantizer of a tensor scheme: values of whole groups to codes and parameter bits.
 */
import type { QuantizedTensorScheme } from '../scheme.js';
import { quantizeAsymmetric } from './asymmetric.js';
import { quantizeHybrid } from './hybrid.js';
import { quantizeLevels, quantizeOffsetLevels } from './levels.js';
import { type ParameterBits, type ParameterTypes, parameterBits } from './parameters.js';
import { quantizeSymmetric, type SymmetricCodes } from './symmetric.js';

/** What `quantize` writes, one code per value and one parameter of each kind per group, and how. */
export interface GroupQuantizer {
  readonly codes: Uint8Array;
  readonly scales: ParameterBits;
  readonly zeros: ParameterBits;
  /** Quantizes consecutive groups of values. */
  readonly quantize: (values: Float32Array, groups: number) => void;
}

/** The quantizer of a scheme for up to `groups` groups of `size` values. */
export function groupQuantizer(
  scheme: QuantizedTensorScheme,
  groups: number,
  size: number,
): GroupQuantizer {
  const types: ParameterTypes = {
    scale: scheme.parameters.scale ?? 'f16',
    zero: scheme.parameters.zero ?? 'f16',
  };
  const codes = new Uint8Array(groups * size);
  const scales = parameterBits(types.scale, groups);
  const zeros = parameterBits(types.zero, groups);
  const { quantizer, bits } = scheme;
  const quantize = (values: Float32Array, count: number): void => {
    const table = typeof quantizer.codes === 'object' ? quantizer.codes : null;
    if (quantizer.mode === 'hybrid')
      quantizeHybrid(values, count, size, bits, quantizer, codes, scales, zeros, types);
    else if (quantizer.mode === 'asymmetric' && table === null)
      quantizeAsymmetric(values, count, size, bits, codes, scales, zeros, types);
    else if (table === null)
      quantizeSymmetric(
        values,
        count,
        size,
        bits,
        quantizer.codes as SymmetricCodes,
        codes,
        scales,
        types.scale,
      );
    else if (quantizer.mode === 'asymmetric')
      quantizeOffsetLevels(values, count, size, table, codes, scales, zeros, types);
    else quantizeLevels(values, count, size, table, codes, scales, types.scale);
  };
  return { codes, scales, zeros, quantize };
}
