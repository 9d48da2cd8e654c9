// The mean of a channel: a sum over the pairwise tree of tokens and one multiply. 0 where it is small beside the mean absolute
// deviation. What is not finite counts as 0.

fn statisticBits(head: u32, channel: u32, tokens: u32, share: f32) -> u32 {
  var tree: Tree;
  for (var t = 0u; t < tokens; t += 1u) {
    let value = rowValue(t, head, channel);
    treeAdd(&tree, select(0.0, value, isFinite(value)));
  }
  let bits = offsetBits(exactly(treeSum(&tree) * share));
  if (MINIMUM_OFFSET == 0.0) {
    return bits;
  }
  let mean = f16Value(bits);
  var deviations: Tree;
  for (var t = 0u; t < tokens; t += 1u) {
    let term = abs(exactly(rowValue(t, head, channel) - mean));
    treeAdd(&deviations, select(0.0, term, isFinite(term)));
  }
  let deviation = exactly(treeSum(&deviations) * share);
  return select(0u, bits, abs(mean) >= exactly(MINIMUM_OFFSET * deviation));
}

fn sharedBits() -> u32 {
  return NONE;
}
