// Numbers as 8-bit integers: one part of 8 bits, or a high and a low one of 15 bits together.

const LARGEST_PART = select(32512.0, 127.0, PARTS == 1u);

struct Parts {
  high: vec4<u32>,
  low: vec4<u32>,
}

// Adding this rounds to an integer, half to even, and leaves it in the low bits.
const ROUNDER = 12582912.0;

// Packs four numbers of each row, times `factors`, into words.
fn partsOf(rows: Rows, factors: vec4<f32>) -> Parts {
  let a = bitcast<vec4<u32>>(rows.a * factors.x + ROUNDER);
  let b = bitcast<vec4<u32>>(rows.b * factors.y + ROUNDER);
  let c = bitcast<vec4<u32>>(rows.c * factors.z + ROUNDER);
  let d = bitcast<vec4<u32>>(rows.d * factors.w + ROUNDER);
  let low = vec4<u32>(lowBytes(a), lowBytes(b), lowBytes(c), lowBytes(d));
  if (PARTS == 1u) {
    return Parts(low, low);
  }
  // The low part is signed: what it takes away is added to the high one.
  let carry = vec4<u32>(128u);
  return Parts(
    vec4<u32>(highBytes(a + carry), highBytes(b + carry), highBytes(c + carry), highBytes(d + carry)),
    low,
  );
}

fn lowBytes(v: vec4<u32>) -> u32 {
  return (v.x & 0xffu) | ((v.y & 0xffu) << 8u) | ((v.z & 0xffu) << 16u) | (v.w << 24u);
}

fn highBytes(v: vec4<u32>) -> u32 {
  return ((v.x >> 8u) & 0xffu) | (v.y & 0xff00u) | ((v.z & 0xff00u) << 8u) | ((v.w & 0xff00u) << 16u);
}

// The factor that makes the largest number the largest integer. Numbers too small to have one are nothing beside the rest.
fn factorsOf(largest: vec4<f32>) -> vec4<f32> {
  return select(LARGEST_PART / largest, vec4<f32>(0.0), largest < vec4<f32>(1.0e-30));
}

// Sums begin at the bits of the rounder, so that they are floating-point numbers when they end: 128 products of 7 and 8 bits
// stay below 2^22.
const SUM_ZERO = 0x4b400000i;

struct Sums {
  highA: vec4<i32>,
  highB: vec4<i32>,
  highC: vec4<i32>,
  highD: vec4<i32>,
  lowA: vec4<i32>,
  lowB: vec4<i32>,
  lowC: vec4<i32>,
  lowD: vec4<i32>,
}

fn zeroSums() -> Sums {
  let zero = vec4<i32>(SUM_ZERO);
  return Sums(zero, zero, zero, zero, zero, zero, zero, zero);
}

fn numberOf(sum: vec4<i32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(sum) - ROUNDER;
}

fn numbersOf(sums: Sums) -> Rows {
  let high = Rows(numberOf(sums.highA), numberOf(sums.highB), numberOf(sums.highC), numberOf(sums.highD));
  if (PARTS == 1u) {
    return high;
  }
  return Rows(
    256.0 * high.a + numberOf(sums.lowA), 256.0 * high.b + numberOf(sums.lowB),
    256.0 * high.c + numberOf(sums.lowC), 256.0 * high.d + numberOf(sums.lowD),
  );
}
