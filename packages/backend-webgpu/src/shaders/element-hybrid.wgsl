// The sign bit of the scale says whether a group is asymmetric.

fn tensor_value(base: u32, entry: u32, code: u32) -> f32 {
  let bits = tensor_half(base + tensor_scaleWord, entry);
  let scale = f16Value(bits & 0x7fffu);
  if ((bits & 0x8000u) != 0u) {
    return f32(code) * scale + f16Value(tensor_half(base + tensor_zeroWord, entry));
  }
  return tensor_signed(code) * scale;
}
