// An element by the parameters and codes of its group, along tokens or channels.

fn tensor_grouped(page: u32, head: u32, slot: u32, channel: u32) -> f32 {
  let base = page + head * tensor_headWords;
  var entry = 0u;
  if (tensor_alongTokens) {
    entry = slot / tensor_groupSize * tensor_headDim + channel;
  } else {
    entry = slot * tensor_groupsPerRow + channel / tensor_groupSize;
  }
  return tensor_value(base, entry, tensor_code(base, slot, channel));
}
