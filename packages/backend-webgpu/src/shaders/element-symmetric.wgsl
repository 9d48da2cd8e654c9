// value = signed code * scale.

fn tensor_value(base: u32, entry: u32, code: u32) -> f32 {
  return tensor_signed(code) * tensor_scaleValue(tensor_scaleBits(base, entry));
}
