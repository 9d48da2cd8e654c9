// What tiles measure of groups: minima and maxima.

const LARGEST = 3.4028234663852886e38;

struct Seen {
  first: vec4<f32>,
  second: vec4<f32>,
}

fn nothingSeen() -> Seen {
  return Seen(vec4<f32>(LARGEST), vec4<f32>(-LARGEST));
}

fn see(seen: Seen, values: vec4<f32>) -> Seen {
  return Seen(min(seen.first, values), max(seen.second, values));
}

fn joined(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(min(a.x, b.x), max(a.y, b.y));
}

fn across(values: vec4<f32>) -> vec2<f32> {
  return vec2<f32>(min(min(values.x, values.y), min(values.z, values.w)), max(max(values.x, values.y), max(values.z, values.w)));
}

// A group of nothing but NaN has no range.
fn overMinimum(part: vec2<f32>) -> Parameters {
  if (part.x > part.y) {
    return Parameters(0u, 0u);
  }
  return rangeBetween(part.x, part.y);
}
