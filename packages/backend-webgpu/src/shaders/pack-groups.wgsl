// Groups along tokens or channels, as the rows of the scratch hold them.

// Group number `entry` of a head: [group, channel] along tokens, [slot, group] along channels.
fn groupOf(pack: Pack, entry: u32, head: u32) -> Group {
  if (tensor_alongTokens) {
    let slot = entry / tensor_headDim * tensor_groupSize;
    return Group(elementIndex(pack, slot, head, entry % tensor_headDim), tensor_heads * tensor_headDim);
  }
  let slot = entry / tensor_groupsPerRow;
  return Group(elementIndex(pack, slot, head, entry % tensor_groupsPerRow * tensor_groupSize), 1u);
}

fn entriesOf(slots: u32) -> u32 {
  return select(slots * tensor_groupsPerRow, slots / tensor_groupSize * tensor_headDim, tensor_alongTokens);
}
