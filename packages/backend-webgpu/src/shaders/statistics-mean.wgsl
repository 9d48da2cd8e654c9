// The mean of a channel: a sum over the pairwise tree of tokens and one multiply.

fn statisticBits(head: u32, channel: u32, firstRow: u32, tokens: u32) -> u32 {
  var tree: Tree;
  for (var t = 0u; t < tokens; t += 1u) {
    treeAdd(&tree, rowValue(firstRow + t, head, channel));
  }
  return offsetBits(exactly(treeSum(&tree) * STATISTICS_SHARE));
}

fn belowSpread() -> bool {
  return false;
}
