// Exact f16 and f32 arithmetic by integers, where WGSL leaves rounding, subnormals or fusing open. docs/law.md 1 and 2.

const F16_SMALLEST_NORMAL = 0x0400u;
const F16_LARGEST = 0x7bffu;

// Hides a value from the optimiser, so that a product and the sum it goes into are rounded one after the other.
fn exactly(value: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(value) ^ job.zero);
}

fn f16Value(bits: u32) -> f32 {
  let magnitude = bits & 0x7fffu;
  let normal = (magnitude << 13u) + 0x38000000u;
  let special = 0x7f800000u | ((magnitude & 0x3ffu) << 13u);
  let subnormal = bitcast<u32>(f32(magnitude) * 5.9604644775390625e-8);
  let large = select(normal, special, magnitude > F16_LARGEST);
  return bitcast<f32>(select(large, subnormal, magnitude < F16_SMALLEST_NORMAL) | ((bits & 0x8000u) << 16u));
}

// Nearest f16, ties to even; subnormals, infinity and NaN included.
fn f16Bits(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return sign | 0x7e00u;
  }
  if (magnitude >= 0x47800000u) {
    return sign | 0x7c00u;
  }
  if (magnitude < 0x38800000u) {
    let exponent = magnitude >> 23u;
    if (exponent < 102u) {
      return sign;
    }
    let shift = 126u - exponent;
    let mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    let half = (1u << (shift - 1u)) - 1u;
    return sign | ((mantissa + half + ((mantissa >> shift) & 1u)) >> shift);
  }
  let rounded = magnitude + 0xfffu + ((magnitude >> 13u) & 1u);
  return sign | min((rounded - 0x38000000u) >> 13u, 0x7c00u);
}

// f16 bits of a scale: raised to the smallest normal number, saturated, sign kept.
fn scaleBits(value: f32) -> u32 {
  let bits = f16Bits(value);
  let magnitude = bits & 0x7fffu;
  if (magnitude == 0u) {
    return 0u;
  }
  return (bits & 0x8000u) | clamp(magnitude, F16_SMALLEST_NORMAL, F16_LARGEST);
}

// f16 bits of an offset: saturated, never -0.
fn offsetBits(value: f32) -> u32 {
  let bits = f16Bits(value);
  let magnitude = bits & 0x7fffu;
  if (magnitude == 0u) {
    return 0u;
  }
  return (bits & 0x8000u) | min(magnitude, F16_LARGEST);
}

// A guess that is off by at most one, by what it leaves of the difference and half a step.
fn settledCode(guess: f32, error: f32, half: f32, lowest: f32, highest: f32) -> i32 {
  var code = guess;
  if (error > half) {
    code = guess + 1.0;
  } else if (error < -half) {
    code = guess - 1.0;
  } else if (abs(error) == half && (i32(guess) & 1) != 0) {
    code = guess + sign(error);
  }
  return i32(clamp(code, lowest, highest));
}

// The integer nearest to difference / scale within [lowest, highest], ties to even, decided by comparing products. scale is
// a positive f16 number: a product with an integer of at most nine bits is exact.
fn nearestCodeOfHalf(difference: f32, scale: f32, lowest: f32, highest: f32) -> i32 {
  let guess = clamp(round(difference / scale), lowest - 1.0, highest + 1.0);
  let error = difference - exactly(guess * scale);
  return settledCode(guess, error, 0.5 * scale, lowest, highest);
}

// The same for an f32 scale: its two halves of twelve bits meet the integer one after the other, each exactly.
fn nearestCodeOfFloat(difference: f32, scale: f32, lowest: f32, highest: f32) -> i32 {
  let guess = clamp(round(difference / scale), lowest - 1.0, highest + 1.0);
  let high = bitcast<f32>(bitcast<u32>(scale) & 0xfffff000u);
  let low = exactly(scale - high);
  let error = exactly(exactly(difference - exactly(guess * high)) - exactly(guess * low));
  return settledCode(guess, error, 0.5 * scale, lowest, highest);
}

// The 48-bit product of two 24-bit numbers: (high, low).
fn wideProduct(a: u32, b: u32) -> vec2<u32> {
  let low = (a & 0xfffu) * (b & 0xfffu);
  let middle = (a >> 12u) * (b & 0xfffu) + (a & 0xfffu) * (b >> 12u);
  let high = (a >> 12u) * (b >> 12u);
  let sum = low + (middle << 12u);
  let carry = select(0u, 1u, sum < low);
  return vec2<u32>((middle >> 20u) + (high >> 8u) + carry, sum + (high << 24u)) +
    vec2<u32>(select(0u, 1u, sum + (high << 24u) < sum), 0u);
}

// The sign of a b - c, exactly, for positive normal numbers.
fn compareProduct(a: f32, b: f32, c: f32) -> i32 {
  let x = bitcast<u32>(a);
  let y = bitcast<u32>(b);
  let z = bitcast<u32>(c);
  let product = wideProduct((x & 0x7fffffu) | 0x800000u, (y & 0x7fffffu) | 0x800000u);
  // a b = product 2^(ex + ey - 300), c = mantissa 2^(ez - 150): c is moved to the exponent of the product.
  let shift = i32(z >> 23u) + 150 - i32(x >> 23u) - i32(y >> 23u);
  let mantissa = (z & 0x7fffffu) | 0x800000u;
  if (shift < 0) {
    return 1;
  }
  if (shift > 39) {
    return -1;
  }
  var moved = vec2<u32>(0u, 0u);
  let by = u32(shift);
  if (by >= 32u) {
    moved = vec2<u32>(mantissa << (by - 32u), 0u);
  } else if (by > 0u) {
    moved = vec2<u32>(mantissa >> (32u - by), mantissa << by);
  } else {
    moved = vec2<u32>(0u, mantissa);
  }
  if (product.x != moved.x) {
    return select(-1, 1, product.x > moved.x);
  }
  if (product.y != moved.y) {
    return select(-1, 1, product.y > moved.y);
  }
  return 0;
}
