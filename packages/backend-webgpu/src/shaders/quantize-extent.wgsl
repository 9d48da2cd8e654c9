// A scale of the largest magnitude of a group over the largest level of its table, docs/law.md 4.

fn extentParameters(group: Group) -> Parameters {
  var largest = 0.0;
  for (var i = 0u; i < GROUP_SIZE; i += 1u) {
    let value = groupValue(group, i);
    if (isMember(value)) {
      largest = max(largest, abs(value));
    }
  }
  return parametersAround(largest);
}
