// Parameters of a group, as bits of their types, from what was measured of it. docs/law.md 3 and 4.

struct Parameters {
  scale: u32,
  zero: u32,
}

fn rangeBetween(minimum: f32, maximum: f32) -> Parameters {
  let zero = storeZero(minimum);
  let range = max(exactly(maximum - zeroValue(zero)), 0.0);
  return Parameters(storeScale(range, tensor_rangeStep), zero);
}

// `extreme`: the first element of largest magnitude.
fn parametersAround(extreme: f32) -> Parameters {
  return Parameters(storeScale(select(abs(extreme), -extreme, tensor_signedScale), tensor_symmetricStep), 0u);
}
