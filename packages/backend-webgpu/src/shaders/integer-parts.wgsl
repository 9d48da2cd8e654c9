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

// The factor that makes the largest number the largest integer.
fn factorsOf(largest: vec4<f32>) -> vec4<f32> {
  return select(LARGEST_PART / largest, vec4<f32>(0.0), largest == vec4<f32>(0.0));
}

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

fn numbersOf(sums: Sums) -> Rows {
  if (PARTS == 1u) {
    return Rows(vec4<f32>(sums.highA), vec4<f32>(sums.highB), vec4<f32>(sums.highC), vec4<f32>(sums.highD));
  }
  return Rows(
    256.0 * vec4<f32>(sums.highA) + vec4<f32>(sums.lowA),
    256.0 * vec4<f32>(sums.highB) + vec4<f32>(sums.lowB),
    256.0 * vec4<f32>(sums.highC) + vec4<f32>(sums.lowC),
    256.0 * vec4<f32>(sums.highD) + vec4<f32>(sums.lowD),
  );
}
