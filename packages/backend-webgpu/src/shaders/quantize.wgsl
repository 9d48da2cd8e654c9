// Parameters and codes of one group, docs/law.md 3 to 5. A group is a run of scratch values, `stride` apart.

struct Group {
  first: u32,
  stride: u32,
}

// f16 bits of scale and zero.
struct Parameters {
  scale: u32,
  zero: u32,
}

fn groupValue(group: Group, i: u32) -> f32 {
  return scratch[group.first + i * group.stride];
}

fn asymmetricParameters(group: Group, largestCode: u32) -> Parameters {
  var minimum = groupValue(group, 0u);
  var maximum = minimum;
  for (var i = 1u; i < GROUP_SIZE; i += 1u) {
    let value = groupValue(group, i);
    minimum = min(minimum, value);
    maximum = max(maximum, value);
  }
  let zero = offsetBits(minimum);
  let range = max(exactly(maximum - f16Value(zero)), 0.0);
  return Parameters(scaleBits(exactly(range * reciprocalOf(largestCode))), zero);
}

fn asymmetricCode(value: f32, parameters: Parameters, largestCode: u32) -> u32 {
  let scale = f16Value(parameters.scale & 0x7fffu);
  if (scale == 0.0) {
    return 0u;
  }
  return u32(nearestCode(exactly(value - f16Value(parameters.zero)), scale, 0.0, f32(largestCode)));
}

// f32 numbers nearest to 1 / (2^bits - 1), exact 1 / 2^n.
fn reciprocalOf(divisor: u32) -> f32 {
  switch (divisor) {
    case 1u: { return 1.0; }
    case 2u: { return 0.5; }
    case 3u: { return 0.3333333432674407958984375; }
    case 4u: { return 0.25; }
    case 7u: { return 0.14285714924335479736328125; }
    case 8u: { return 0.125; }
    case 15u: { return 0.0666666701436042785644531; }
    case 31u: { return 0.0322580635547637939453125; }
    case 127u: { return 0.00787401571869850158691406; }
    case 128u: { return 0.0078125; }
    default: { return 0.0039215688593685626983643; }
  }
}

// signmag 0, full 1, fullSigned 2.
fn symmetricParameters(group: Group, codeSet: u32) -> Parameters {
  var largest = 0.0;
  var extreme = 0.0;
  for (var i = 0u; i < GROUP_SIZE; i += 1u) {
    let value = groupValue(group, i);
    if (abs(value) > largest) {
      largest = abs(value);
      extreme = value;
    }
  }
  let half = 1u << (tensor_bits - 1u);
  let step = reciprocalOf(select(half, half - 1u, codeSet == 0u));
  return Parameters(scaleBits(exactly(select(largest, -extreme, codeSet == 2u) * step)), 0u);
}

fn symmetricCode(value: f32, parameters: Parameters, codeSet: u32) -> u32 {
  let scale = f16Value(parameters.scale);
  if (scale == 0.0) {
    return 0u;
  }
  let half = f32(1u << (tensor_bits - 1u));
  let lowest = select(-half, 1.0 - half, codeSet == 0u);
  let numerator = select(value, -value, scale < 0.0);
  return u32(nearestCode(numerator, abs(scale), lowest, half - 1.0)) & tensor_codeMask;
}

fn signedCode(code: u32) -> f32 {
  return f32(i32(code << (32u - tensor_bits)) >> (32u - tensor_bits));
}

// Symmetric or asymmetric by the smaller sum of errors; the sign bit of the scale says which.
fn hybridParameters(group: Group, codeSet: u32) -> Parameters {
  let symmetric = symmetricParameters(group, codeSet);
  let asymmetric = asymmetricParameters(group, tensor_asymmetricCodes - 1u);
  let symmetricScale = f16Value(symmetric.scale);
  let asymmetricScale = f16Value(asymmetric.scale);
  let zero = f16Value(asymmetric.zero);
  var symmetricErrors: Tree;
  var asymmetricErrors: Tree;
  for (var i = 0u; i < GROUP_SIZE; i += 1u) {
    let value = groupValue(group, i);
    let first = exactly(signedCode(symmetricCode(value, symmetric, codeSet)) * symmetricScale);
    let code = asymmetricCode(value, asymmetric, tensor_asymmetricCodes - 1u);
    let second = exactly(exactly(f32(code) * asymmetricScale) + zero);
    treeAdd(&symmetricErrors, abs(exactly(first - value)));
    treeAdd(&asymmetricErrors, abs(exactly(second - value)));
  }
  let first = treeSum(&symmetricErrors);
  let second = treeSum(&asymmetricErrors);
  if (second < first || (second == first && tensor_tieAsymmetric)) {
    return Parameters(asymmetric.scale | 0x8000u, asymmetric.zero);
  }
  return symmetric;
}

fn hybridCode(value: f32, parameters: Parameters, codeSet: u32) -> u32 {
  if ((parameters.scale & 0x8000u) != 0u) {
    return asymmetricCode(value, parameters, tensor_asymmetricCodes - 1u);
  }
  return symmetricCode(value, parameters, codeSet);
}
