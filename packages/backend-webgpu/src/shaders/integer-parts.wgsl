// Numbers as 8-bit integers: one part of 8 bits, or a high and a low one of 16 bits together. Queries are signed, weights are
// not.

const LARGEST_SIGNED = select(32512.0, 127.0, PARTS == 1u);
const LARGEST_UNSIGNED = select(65535.0, 255.0, PARTS == 1u);

// Adding this rounds to an integer, half to even, and leaves it in the low bits.
const ROUNDER = 12582912.0f;
// Four times its bits.
const ROUNDERS = 0x2d000000u;

struct Parts {
  high: vec4<u32>,
  low: vec4<u32>,
}

// Parts that meet consecutive words of the reduction.
struct PartWords {
  a: vec4<u32>,
  b: vec4<u32>,
  c: vec4<u32>,
  d: vec4<u32>,
}

// Integers of four rows, as the low bits of ROUNDER and more.
struct Integers {
  a: vec4<u32>,
  b: vec4<u32>,
  c: vec4<u32>,
  d: vec4<u32>,
}

fn integersOf(rows: Rows, factors: vec4<f32>) -> Integers {
  return Integers(
    bitcast<vec4<u32>>(rows.a * factors.x + ROUNDER), bitcast<vec4<u32>>(rows.b * factors.y + ROUNDER),
    bitcast<vec4<u32>>(rows.c * factors.z + ROUNDER), bitcast<vec4<u32>>(rows.d * factors.w + ROUNDER),
  );
}

// Sums of the four integers of each row. Not by taking ROUNDER away in floating point: compilers cancel it.
fn integerSums(integers: Integers) -> vec4<f32> {
  let sums = vec4<u32>(sumOf(integers.a), sumOf(integers.b), sumOf(integers.c), sumOf(integers.d));
  return vec4<f32>(bitcast<vec4<i32>>(sums - vec4<u32>(ROUNDERS)));
}

fn sumOf(words: vec4<u32>) -> u32 {
  return words.x + words.y + words.z + words.w;
}

// A difference of large numbers, kept from the compiler: some multiply out what comes after, and lose it.
fn settled(value: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(value) ^ vec4<u32>(job.zero));
}

// Integers as words of signed bytes. The low part is signed: what it takes away is added to the high one.
fn signedParts(integers: Integers) -> Parts {
  return partsOf(integers, 128u);
}

// Integers, none of them negative, as words of unsigned bytes.
fn unsignedParts(integers: Integers) -> Parts {
  return partsOf(integers, 0u);
}

fn partsOf(integers: Integers, carry: u32) -> Parts {
  let low = vec4<u32>(bytes(integers.a, 0u), bytes(integers.b, 0u), bytes(integers.c, 0u), bytes(integers.d, 0u));
  if (PARTS == 1u) {
    return Parts(low, low);
  }
  return Parts(
    vec4<u32>(
      bytes(integers.a + carry, 8u), bytes(integers.b + carry, 8u), bytes(integers.c + carry, 8u), bytes(integers.d + carry, 8u),
    ),
    low,
  );
}

// The bytes from bit `first` on of four words: 0 or 8.
fn bytes(v: vec4<u32>, first: u32) -> u32 {
  if (first == 0u) {
    return (v.x & 0xffu) | ((v.y & 0xffu) << 8u) | ((v.z & 0xffu) << 16u) | (v.w << 24u);
  }
  return ((v.x >> 8u) & 0xffu) | (v.y & 0xff00u) | ((v.z & 0xff00u) << 8u) | ((v.w & 0xff00u) << 16u);
}

// The factor that makes the largest number the largest integer. Numbers too small to have one are nothing beside the rest.
fn factorsOf(largest: vec4<f32>, integer: f32) -> vec4<f32> {
  return select(integer / largest, vec4<f32>(0.0), largest < vec4<f32>(1.0e-30));
}

// Sums of the four tokens, or channels, of a lane; a vector over rows.
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

// Sums of the integers over a group of lanes, of `groups` equal ones: of set number `first`, and with two parts of the one after
// it. The caller synchronises.
fn totalsOf(first: u32, groups: u32, group: u32, signed: bool) -> vec4<f32> {
  let size = LANES / groups;
  var high = vec4<i32>(0);
  var low = vec4<i32>(0);
  for (var i = group * size; i < (group + 1u) * size; i += 1u) {
    high += byteSums(parts[first * SET + i], signed);
    if (PARTS == 2u) {
      low += byteSums(parts[(first + 1u) * SET + i], signed);
    }
  }
  return select(256.0 * vec4<f32>(high) + vec4<f32>(low), vec4<f32>(high), PARTS == 1u);
}

fn byteSums(words: vec4<u32>, signed: bool) -> vec4<i32> {
  let ones = 0x01010101u;
  if (signed) {
    return vec4<i32>(
      dot4I8Packed(words.x, ones), dot4I8Packed(words.y, ones), dot4I8Packed(words.z, ones), dot4I8Packed(words.w, ones),
    );
  }
  return bitcast<vec4<i32>>(vec4<u32>(
    dot4U8Packed(words.x, ones), dot4U8Packed(words.y, ones), dot4U8Packed(words.z, ones), dot4U8Packed(words.w, ones),
  ));
}

// A sum of dot products and so many times the sum of the integers alone.
fn offsetBy(numbers: vec4<f32>, offset: f32, total: vec4<f32>) -> vec4<f32> {
  if (offset == 0.0) {
    return numbers;
  }
  return numbers + offset * total;
}
