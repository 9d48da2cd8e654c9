// A packed element beside top outliers, whose channels rise inside a token.

fn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {
  let base = page + head * tensor_headWords;
  for (var entry = slot * tensor_topCount; entry < (slot + 1u) * tensor_topCount; entry += 1u) {
    if (tensor_field(base + tensor_topChannelsWord, entry, tensor_topChannelWidth) == channel) {
      return f16Value(tensor_field(base + tensor_topValuesWord, entry, 16u));
    }
  }
  return tensor_grouped(page, head, slot, channel);
}
