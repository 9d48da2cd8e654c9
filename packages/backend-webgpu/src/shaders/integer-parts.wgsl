// Numbers as 8-bit integers: one part of 8 bits, or a high and a low one of 15 bits together.

const LARGEST_PART = select(32512.0, 127.0, PARTS == 1u);

struct Parts {
  high: vec4<u32>,
  low: vec4<u32>,
}

// Packs four numbers of each row, times `factors`, into words.
fn partsOf(rows: Rows, factors: vec4<f32>) -> Parts {
  let a = vec4<i32>(round(rows.a * factors.x));
  let b = vec4<i32>(round(rows.b * factors.y));
  let c = vec4<i32>(round(rows.c * factors.z));
  let d = vec4<i32>(round(rows.d * factors.w));
  let low = vec4<u32>(pack4xI8(a), pack4xI8(b), pack4xI8(c), pack4xI8(d));
  if (PARTS == 1u) {
    return Parts(low, low);
  }
  return Parts(
    vec4<u32>(
      pack4xI8((a + 128) >> vec4<u32>(8u)), pack4xI8((b + 128) >> vec4<u32>(8u)),
      pack4xI8((c + 128) >> vec4<u32>(8u)), pack4xI8((d + 128) >> vec4<u32>(8u)),
    ),
    low,
  );
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
