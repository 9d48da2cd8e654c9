// value = code * scale + zero.

fn tensor_value(base: u32, entry: u32, code: u32) -> f32 {
  let scale = f16Value(tensor_half(base + tensor_scaleWord, entry));
  let zero = f16Value(tensor_half(base + tensor_zeroWord, entry));
  return f32(code) * scale + zero;
}
