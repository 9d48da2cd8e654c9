/**
 * The values of small floating-point formats in rising order; both zeros are one level.
 */

/** E2M1 (FP4) of OCP MX v1.0: 15 values, the largest 6. */
export function e2m1Levels(): number[] {
  return withNegatives([0.5, 1, 1.5, 2, 3, 4, 6]);
}

/** E4M3 (FP8) of OCP OFP8 without its NaN: 253 values, the smallest step 2^-9, the largest 448. */
export function e4m3Levels(): number[] {
  const positive: number[] = [];
  for (let mantissa = 1; mantissa < 8; mantissa++) positive.push(mantissa * 2 ** -9);
  for (let exponent = -6; exponent <= 8; exponent++)
    for (let mantissa = 8; mantissa < 16; mantissa++) positive.push(mantissa * 2 ** (exponent - 3));
  // The bits of 480 are NaN.
  positive.pop();
  return withNegatives(positive);
}

function withNegatives(positive: readonly number[]): number[] {
  return [...positive.map((value) => -value).reverse(), 0, ...positive];
}
