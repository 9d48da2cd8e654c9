// A scale that is the root mean square of its group, docs/law.md 4.

fn rootParameters(group: Group) -> Parameters {
  var squares: Tree;
  var members = 0u;
  for (var i = 0u; i < GROUP_SIZE; i += 1u) {
    let value = groupValue(group, i);
    if (isMember(value)) {
      members += 1u;
      treeAdd(&squares, exactly(value * value));
    } else {
      treeAdd(&squares, 0.0);
    }
  }
  // Reciprocals of counts; that of none is 0.
  let share = bitcast<f32>(memory[tensor_sharesWord + members]);
  return Parameters(storeRoot(exactly(treeSum(&squares) * share)), 0u);
}
