/**
 * Uniform levels around zero, none at zero, that suit normal data.
 */

/** Distance between levels in standard deviations: the uniform quantizers of least mean squared error on N(0, 1). */
const STEP = { 2: 0.9957, 3: 0.586, 4: 0.335 } as const;

/** 2^bits rising levels `(code - half) * step` with half = (2^bits - 1) / 2, in standard deviations. */
export function midRiseLevels(bits: 2 | 3 | 4): readonly number[] {
  const count = 2 ** bits;
  return Object.freeze(
    Array.from({ length: count }, (_, code) => (code - (count - 1) / 2) * STEP[bits]),
  );
}
