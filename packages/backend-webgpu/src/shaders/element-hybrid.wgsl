// The sign bit of the scale says whether a group is asymmetric.

fn tensor_value(base: u32, entry: u32, code: u32) -> f32 {
  let bits = tensor_scaleBits(base, entry);
  let scale = tensor_scaleValue(bits & tensor_scaleMagnitude);
  if ((bits & tensor_scaleSign) != 0u) {
    return f32(code) * scale + tensor_zero(base, entry);
  }
  return tensor_signed(code) * scale;
}
