/**
 * The hybrid quantizer, docs/law.md 5: per group, symmetric or asymmetric, whichever has the smaller L1 error.
 *
 * The sign bit of the stored scale says which (1 = asymmetric, also for a scale of -0); the zero of a symmetric group is
 * stored as +0. Errors are f32, summed over a fixed pairwise tree by element index.
 */
import { quantizeAsymmetric } from './asymmetric.js';
import {
  F16_PARAMETERS,
  type ParameterBits,
  type ParameterTypes,
  parameterBits,
  parameterValue,
  SCALE_SIGN,
} from './parameters.js';
import { quantizeSymmetric, signedCode } from './symmetric.js';

export interface HybridRule {
  readonly codes: 'signmag' | 'full';
  readonly asymmetricBits: number;
  readonly tie: 'symmetric' | 'asymmetric';
}

/** Quantizes consecutive groups of `size` values; see quantizeAsymmetric. */
export function quantizeHybrid(
  values: Float32Array,
  groups: number,
  size: number,
  bits: number,
  rule: HybridRule,
  codes: Uint8Array,
  scales: ParameterBits,
  zeros: ParameterBits,
  types: ParameterTypes = F16_PARAMETERS,
): void {
  const scaleValue = parameterValue(types.scale);
  const zeroValue = parameterValue(types.zero);
  const asymmetricCodes = new Uint8Array(groups * size);
  const asymmetricScales = parameterBits(types.scale, groups);
  quantizeSymmetric(values, groups, size, bits, rule.codes, codes, scales, types.scale);
  quantizeAsymmetric(
    values,
    groups,
    size,
    rule.asymmetricBits,
    asymmetricCodes,
    asymmetricScales,
    zeros,
    types,
  );
  const symmetricErrors = new Float32Array(size);
  const asymmetricErrors = new Float32Array(size);
  for (let group = 0; group < groups; group++) {
    const first = group * size;
    const symmetricScale = scaleValue(scales[group] as number);
    const asymmetricScale = scaleValue(asymmetricScales[group] as number);
    const zero = zeroValue(zeros[group] as number);
    for (let i = 0; i < size; i++) {
      const value = values[first + i] as number;
      const code = signedCode(codes[first + i] as number, bits);
      const product = Math.fround((asymmetricCodes[first + i] as number) * asymmetricScale);
      // What is no member (NaN) adds nothing to either side.
      symmetricErrors[i] = Math.abs(Math.fround(code * symmetricScale) - value) || 0;
      asymmetricErrors[i] = Math.abs(Math.fround(product + zero) - value) || 0;
    }
    const symmetricError = pairwiseSum(symmetricErrors, size);
    const asymmetricError = pairwiseSum(asymmetricErrors, size);
    const takeAsymmetric =
      rule.tie === 'symmetric'
        ? asymmetricError < symmetricError
        : asymmetricError <= symmetricError;
    if (takeAsymmetric) {
      codes.set(asymmetricCodes.subarray(first, first + size), first);
      // Assignment to a typed array wraps a negative result of the operator.
      scales[group] = (asymmetricScales[group] as number) | SCALE_SIGN[types.scale];
    } else {
      zeros[group] = 0;
    }
  }
}

/**
 * f32 sum over the tree that adds neighbours (0+1, 2+3, ...) level by level; an odd last element moves up unchanged.
 * Overwrites `terms`.
 */
export function pairwiseSum(terms: Float32Array, count: number): number {
  let left = count;
  while (left > 1) {
    const pairs = left >> 1;
    for (let i = 0; i < pairs; i++)
      terms[i] = (terms[2 * i] as number) + (terms[2 * i + 1] as number);
    if ((left & 1) === 1) terms[pairs] = terms[left - 1] as number;
    left = (left + 1) >> 1;
  }
  return count === 0 ? 0 : (terms[0] as number);
}
