// value = signed code * scale.

fn tensor_value(base: u32, entry: u32, code: u32) -> f32 {
  return tensor_signed(code) * f16Value(tensor_half(base + tensor_scaleWord, entry));
}
