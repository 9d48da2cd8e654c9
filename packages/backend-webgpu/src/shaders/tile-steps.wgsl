// How groups of a tile become codes, four elements at once.

struct Steps {
  scale: vec4<f32>,
  // What `differences` takes from values: zeros, or signs.
  offset: vec4<f32>,
  inverse: vec4<f32>,
  // Half the scale; more than any error where the scale is 0 and with it all codes.
  half: vec4<f32>,
}

fn stepOver(scale: f32, offset: f32) -> vec4<f32> {
  if (scale == 0.0) {
    return vec4<f32>(0.0, offset, 0.0, 3.4028234663852886e38);
  }
  return vec4<f32>(scale, offset, 1.0 / scale, 0.5 * scale);
}

fn exactlyFour(values: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(values) ^ vec4<u32>(job.zero));
}
