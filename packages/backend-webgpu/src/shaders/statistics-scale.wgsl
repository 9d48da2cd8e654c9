// The reciprocal of n = sqrt(max |x|), nearest in f16, decided by comparing products exactly.

fn statisticBits(head: u32, channel: u32, tokens: u32, share: f32) -> u32 {
  var largest = 0.0;
  for (var t = 0u; t < tokens; t += 1u) {
    let value = abs(rowValue(t, head, channel));
    largest = select(largest, max(largest, value), isFinite(value));
  }
  if (largest == 0.0) {
    return ONE;
  }
  let maximum = clamp(largest, CLAMP_LOW_SQUARE, CLAMP_HIGH_SQUARE);
  var bits = f16Bits(1.0 / sqrt(maximum));
  while (bits > 1u && compareProduct(squareOfMiddle(bits), maximum, 1.0) > 0) {
    bits -= 1u;
  }
  while (bits < F16_LARGEST && compareProduct(squareOfMiddle(bits + 1u), maximum, 1.0) < 0) {
    bits += 1u;
  }
  return bits;
}

// Middles of neighbouring f16 numbers have twelve bits, their squares 24.
fn squareOfMiddle(upper: u32) -> f32 {
  let middle = 0.5 * (f16Value(upper) + f16Value(upper - 1u));
  return exactly(middle * middle);
}

// All factors of the head are 1 where median r < min r * minimumSpread. Positive f16 numbers order as their bits do.
fn sharedBits() -> u32 {
  var smallest = 0x7fffu;
  for (var c = 0u; c < tensor_headDim; c += 1u) {
    smallest = min(smallest, statistic_bits[c]);
  }
  var median = 0u;
  for (var c = 0u; c < tensor_headDim; c += 1u) {
    var below = 0u;
    var equal = 0u;
    for (var other = 0u; other < tensor_headDim; other += 1u) {
      below += select(0u, 1u, statistic_bits[other] < statistic_bits[c]);
      equal += select(0u, 1u, statistic_bits[other] == statistic_bits[c]);
    }
    if (below <= tensor_headDim / 2u && tensor_headDim / 2u < below + equal) {
      median = statistic_bits[c];
    }
  }
  let below = f16Value(median) < exactly(f16Value(smallest) * MINIMUM_SPREAD);
  return select(NONE, ONE, below);
}
