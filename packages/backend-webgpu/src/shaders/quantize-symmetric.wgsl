// Parameters and codes of groups around zero, docs/law.md 4.

fn symmetricParameters(group: Group) -> Parameters {
  var extreme = 0.0;
  for (var i = 0u; i < GROUP_SIZE; i += 1u) {
    let value = groupValue(group, i);
    if (isMember(value) && abs(value) > abs(extreme)) {
      extreme = value;
    }
  }
  return parametersAround(extreme);
}

fn symmetricCode(value: f32, parameters: Parameters) -> u32 {
  let scale = scaleValue(parameters.scale);
  if (scale == 0.0) {
    return 0u;
  }
  let numerator = select(value, -value, scale < 0.0);
  return u32(nearestCode(numerator, abs(scale), tensor_lowestCode, tensor_highestCode)) & tensor_codeMask;
}
