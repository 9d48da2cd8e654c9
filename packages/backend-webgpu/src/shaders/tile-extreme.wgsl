// What tiles measure of groups: the first element of largest magnitude.

struct Seen {
  first: vec4<f32>,
  second: vec4<f32>,
}

fn nothingSeen() -> Seen {
  return Seen();
}

fn see(seen: Seen, values: vec4<f32>) -> Seen {
  return Seen(select(seen.first, values, abs(values) > abs(seen.first)), vec4<f32>());
}

fn joined(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return select(a, b, abs(b.x) > abs(a.x));
}

fn across(values: vec4<f32>) -> vec2<f32> {
  var extreme = 0.0;
  for (var i = 0u; i < 4u; i += 1u) {
    extreme = select(extreme, values[i], abs(values[i]) > abs(extreme));
  }
  return vec2<f32>(extreme, 0.0);
}
