// value = level of the code * scale + zero, as far as there are a scale and a zero.

fn tensor_value(base: u32, entry: u32, code: u32) -> f32 {
  var value = bitcast<f32>(tensor_memory[tensor_levelsWord + code]);
  if (tensor_hasScale) {
    value *= tensor_scaleValue(tensor_scaleBits(base, entry));
  }
  if (tensor_hasZero) {
    value += tensor_zero(base, entry);
  }
  return value;
}
