// Parameters of every type, docs/law.md 2: bits of f32 numbers, and f32 numbers of bits. Decoded by integers, because a device
// may flush subnormal numbers.

const FLOAT_SMALLEST_NORMAL = 0x00800000u;
const FLOAT_LARGEST = 0x7f7fffffu;
const E4M3_LARGEST = 0x7eu;

fn magnitudeOf(value: f32) -> u32 {
  return bitcast<u32>(value) & 0x7fffffffu;
}

// NaN is no member of a group.
fn isMember(value: f32) -> bool {
  return magnitudeOf(value) <= 0x7f800000u;
}

fn isFinite(value: f32) -> bool {
  return magnitudeOf(value) < 0x7f800000u;
}

fn floatValue(bits: u32) -> f32 {
  return bitcast<f32>(bits);
}

// Steps of 2^-9 below 2^-6; scales have no sign.
fn e4m3Value(bits: u32) -> f32 {
  let field = bits >> 3u;
  let units = (bits & 7u) + select(8u, 0u, field == 0u);
  return f32(units) * bitcast<f32>((max(field, 1u) + 117u) << 23u);
}

// Byte 0 stands for 0.
fn e8m0Value(bits: u32) -> f32 {
  return bitcast<f32>(bits << 23u);
}

// floor(log2 |value|); 128 for an infinite one.
fn exponentOf(value: f32) -> i32 {
  let magnitude = magnitudeOf(value);
  let field = magnitude >> 23u;
  return select(i32(field) - 127, -118 - i32(countLeadingZeros(magnitude)), field == 0u);
}

fn powerBits(exponent: i32) -> u32 {
  return u32(clamp(exponent + 127, 1, 254));
}

// Bits of scales: `product` is the extent times the reciprocal of the largest code's level, rounded once.

fn floatScaleBits(extent: f32, product: f32) -> u32 {
  if (magnitudeOf(extent) == 0u) {
    return 0u;
  }
  return (bitcast<u32>(extent) & 0x80000000u) | clamp(magnitudeOf(product), FLOAT_SMALLEST_NORMAL, FLOAT_LARGEST);
}

fn e4m3ScaleBits(extent: f32, product: f32) -> u32 {
  if (magnitudeOf(extent) == 0u) {
    return 0u;
  }
  if (product >= 448.0) {
    return E4M3_LARGEST;
  }
  if (product <= 0.001953125) {
    return 1u;
  }
  let bits = bitcast<u32>(product);
  let own = i32(bits >> 23u) - 127;
  let exponent = max(own, -6);
  let mantissa = (bits & 0x7fffffu) | 0x800000u;
  let shift = u32(20 + exponent - own);
  let half = (1u << (shift - 1u)) - 1u;
  // A carry moves into the exponent.
  return u32((exponent + 6) * 8) + ((mantissa + half + ((mantissa >> shift) & 1u)) >> shift);
}

fn powerScaleBits(extent: f32, topExponent: i32) -> u32 {
  return select(powerBits(exponentOf(extent) - topExponent), 0u, magnitudeOf(extent) == 0u);
}

fn floatOffsetBits(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  let magnitude = bits & 0x7fffffffu;
  return select((bits & 0x80000000u) | min(magnitude, FLOAT_LARGEST), 0u, magnitude == 0u);
}
