// Bits of scales that are the root of a mean of squares, docs/law.md 4: the number of the type nearest to the square root, ties
// to even, decided by comparing squares exactly.

fn halfRootBits(square: f32) -> u32 {
  var bits = f16Bits(sqrt(square));
  loop {
    let middle = squareOf(0.5 * (f16Value(bits) + f16Value(max(bits, 1u) - 1u)));
    if (bits == 0u || !(middle > square || (middle == square && (bits & 1u) != 0u))) {
      break;
    }
    bits -= 1u;
  }
  loop {
    let middle = squareOf(0.5 * (f16Value(bits) + f16Value(bits + 1u)));
    if (bits >= F16_LARGEST || !(middle < square || (middle == square && (bits & 1u) != 0u))) {
      break;
    }
    bits += 1u;
  }
  return scaleBits(f16Value(bits));
}

fn e4m3RootBits(square: f32) -> u32 {
  let root = sqrt(square);
  var bits = e4m3ScaleBits(square, root);
  loop {
    let middle = squareOf(0.5 * (e4m3Value(bits) + e4m3Value(max(bits, 1u) - 1u)));
    if (bits <= 1u || !(middle > square || (middle == square && (bits & 1u) != 0u))) {
      break;
    }
    bits -= 1u;
  }
  loop {
    let middle = squareOf(0.5 * (e4m3Value(bits) + e4m3Value(bits + 1u)));
    if (bits == 0u || bits >= E4M3_LARGEST || !(middle < square || (middle == square && (bits & 1u) != 0u))) {
      break;
    }
    bits += 1u;
  }
  return bits;
}

// s is the f32 number nearest to the root when s prev(s) < square <= s next(s).
fn floatRootBits(square: f32) -> u32 {
  if (magnitudeOf(square) == 0u) {
    return 0u;
  }
  var bits = bitcast<u32>(sqrt(square));
  while (compareProduct(bitcast<f32>(bits), bitcast<f32>(bits - 1u), square) >= 0) {
    bits -= 1u;
  }
  while (compareProduct(bitcast<f32>(bits), bitcast<f32>(bits + 1u), square) < 0) {
    bits += 1u;
  }
  return floatScaleBits(square, bitcast<f32>(bits));
}

fn powerRootBits(square: f32) -> u32 {
  // An arithmetic shift rounds down.
  return select(powerBits(exponentOf(square) >> 1u), 0u, magnitudeOf(square) == 0u);
}

// Exact: middles of f16 numbers have twelve bits.
fn squareOf(middle: f32) -> f32 {
  return exactly(middle * middle);
}
