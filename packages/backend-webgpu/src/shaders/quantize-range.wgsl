// Parameters of groups over their minimum, docs/law.md 3: a zero, and a scale of the range.

fn rangeParameters(group: Group) -> Parameters {
  var minimum = 0.0;
  var maximum = 0.0;
  var some = false;
  for (var i = 0u; i < GROUP_SIZE; i += 1u) {
    let value = groupValue(group, i);
    if (!isMember(value)) {
      continue;
    }
    minimum = select(value, min(minimum, value), some);
    maximum = select(value, max(maximum, value), some);
    some = true;
  }
  return rangeBetween(minimum, maximum);
}

fn uniformCode(value: f32, parameters: Parameters) -> u32 {
  let scale = scaleValue(parameters.scale & tensor_scaleMagnitude);
  if (scale == 0.0) {
    return 0u;
  }
  return u32(nearestCode(exactly(value - zeroValue(parameters.zero)), scale, 0.0, tensor_rangeTop));
}
