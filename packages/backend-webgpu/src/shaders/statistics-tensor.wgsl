// One factor for all heads and channels: LARGEST over the largest finite magnitude, nearest in f16, ties to even, decided by
// comparing products exactly. Every head finds the same one.

// Bits of the largest magnitude of a channel over tokens and heads: they order as their numbers do.
fn statisticBits(head: u32, channel: u32, tokens: u32, share: f32) -> u32 {
  var largest = 0u;
  for (var token = 0u; token < tokens; token += 1u) {
    for (var other = 0u; other < tensor_heads; other += 1u) {
      let value = rowValue(token, other, channel);
      largest = select(largest, max(largest, magnitudeOf(value)), isFinite(value));
    }
  }
  return largest;
}

fn sharedBits() -> u32 {
  var largest = 0u;
  for (var c = 0u; c < tensor_headDim; c += 1u) {
    largest = max(largest, statistic_bits[c]);
  }
  if (largest == 0u) {
    return ONE;
  }
  let maximum = bitcast<f32>(largest);
  // 2^-14 and below it, 65504 and above it.
  if (compareProduct(0.00006103515625, maximum, LARGEST) >= 0) {
    return F16_SMALLEST_NORMAL;
  }
  if (compareProduct(65504.0, maximum, LARGEST) <= 0) {
    return F16_LARGEST;
  }
  var bits = clamp(f16Bits(LARGEST / maximum), F16_SMALLEST_NORMAL, F16_LARGEST);
  while (bits > F16_SMALLEST_NORMAL && isBelow(bits, maximum)) {
    bits -= 1u;
  }
  while (bits < F16_LARGEST && isAbove(bits, maximum)) {
    bits += 1u;
  }
  return bits;
}

// Whether the quotient lies below what rounds to these bits.
fn isBelow(bits: u32, maximum: f32) -> bool {
  let side = compareProduct(0.5 * (f16Value(bits) + f16Value(bits - 1u)), maximum, LARGEST);
  return side > 0 || (side == 0 && (bits & 1u) != 0u);
}

fn isAbove(bits: u32, maximum: f32) -> bool {
  let side = compareProduct(0.5 * (f16Value(bits) + f16Value(bits + 1u)), maximum, LARGEST);
  return side < 0 || (side == 0 && (bits & 1u) != 0u);
}
