// value = code * scale + zero.

fn tensor_value(base: u32, entry: u32, code: u32) -> f32 {
  return f32(code) * tensor_scaleValue(tensor_scaleBits(base, entry)) + tensor_zero(base, entry);
}
