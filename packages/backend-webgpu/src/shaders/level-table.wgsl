// Parameters and codes of groups with a level table, docs/law.md 4.

fn levelParameters(group: Group) -> Parameters {
  if (tensor_scaledByRoot) {
    var squares: Tree;
    for (var i = 0u; i < GROUP_SIZE; i += 1u) {
      let value = groupValue(group, i);
      treeAdd(&squares, exactly(value * value));
    }
    return Parameters(scaleBits(rootOf(exactly(treeSum(&squares) * tensor_groupShare))), 0u);
  }
  var largest = 0.0;
  for (var i = 0u; i < GROUP_SIZE; i += 1u) {
    largest = max(largest, abs(groupValue(group, i)));
  }
  return Parameters(scaleBits(exactly(largest * tensor_levelShare)), 0u);
}

// How many scaled middles between neighbouring levels lie below the value.
fn levelCode(value: f32, parameters: Parameters) -> u32 {
  let scale = f16Value(parameters.scale);
  var code = 0u;
  if (scale > 0.0) {
    var middles = tensor_middles;
    for (var i = 0u; i < tensor_levelCount - 1u; i += 1u) {
      code += select(0u, 1u, value > exactly(middles[i] * scale));
    }
  }
  return code;
}

// The f16 number nearest to a square root, decided by comparing squares: middles of f16 numbers have twelve bits.
fn rootOf(square: f32) -> f32 {
  var bits = f16Bits(sqrt(square));
  while (bits > 0u && squareOfMiddle(bits) > square) {
    bits -= 1u;
  }
  while (bits < F16_LARGEST && squareOfMiddle(bits + 1u) < square) {
    bits += 1u;
  }
  return f16Value(bits);
}

fn squareOfMiddle(upper: u32) -> f32 {
  let middle = 0.5 * (f16Value(upper) + f16Value(upper - 1u));
  return exactly(middle * middle);
}
