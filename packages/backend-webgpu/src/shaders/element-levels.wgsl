// value = level of the code * scale.

fn tensor_value(base: u32, entry: u32, code: u32) -> f32 {
  var levels = tensor_levels;
  return levels[code] * f16Value(tensor_half(base + tensor_scaleWord, entry));
}
