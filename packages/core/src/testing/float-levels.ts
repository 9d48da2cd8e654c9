/**
 * The values of small floating-point formats, as level tables for tests.
 */

/** FP4 E2M1 of the OCP MX formats: 15 values, since both zeros are one level. */
export const E2M1_LEVELS: readonly number[] = withNegatives([0.5, 1, 1.5, 2, 3, 4, 6]);

/** FP8 E4M3 of the OCP: 253 values from -448 to 448. */
export function e4m3Levels(): number[] {
  const positive = Array.from({ length: 126 }, (_, i) => {
    const [field, mantissa] = [(i + 1) >> 3, (i + 1) & 7];
    return field === 0 ? mantissa / 512 : (1 + mantissa / 8) * 2 ** (field - 7);
  });
  return withNegatives(positive);
}

function withNegatives(positive: readonly number[]): number[] {
  return [...positive.toReversed().map((value) => -value), 0, ...positive];
}
