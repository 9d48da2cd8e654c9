// What tiles measure for groups around zero: the first element of largest magnitude.

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

fn parametersOf(part: vec2<f32>) -> Parameters {
  return parametersAround(part.x);
}

// A scale below zero turns the group round.
fn stepOf(parameters: Parameters) -> vec4<f32> {
  let scale = scaleValue(parameters.scale);
  return stepOver(abs(scale), select(1.0, -1.0, scale < 0.0));
}

fn differences(values: vec4<f32>, signs: vec4<f32>) -> vec4<f32> {
  return values * signs;
}

const FIRST_CODE = tensor_lowestCode;
const LAST_CODE = tensor_highestCode;
