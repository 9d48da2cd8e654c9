// Codes of level tables, docs/law.md 4: how many scaled middles between neighbouring levels lie below a value.

fn levelCode(value: f32, scale: f32) -> u32 {
  if (scale <= 0.0) {
    return 0u;
  }
  var code = 0u;
  for (var step = tensor_firstStep; step > 0u; step >>= 1u) {
    let middle = code + step - 1u;
    if (middle < tensor_middleCount && value > exactly(bitcast<f32>(memory[tensor_middlesWord + middle]) * scale)) {
      code += step;
    }
  }
  return code;
}
