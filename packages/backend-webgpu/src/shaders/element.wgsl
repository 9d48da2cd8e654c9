// One element of a tensor, wherever its token is: a packed page, a window page, or the input of the step. Composed once
// for keys and once for values. docs/block-format.md.

// `page` is the first word of a packed page, or the first half of a window page or of the input.
fn tensor_element(source: u32, page: u32, head: u32, slot: u32, channel: u32) -> f32 {
  if (source == SOURCE_PACKED) {
    return tensor_packed(page, head, slot, channel);
  }
  if (source == SOURCE_WINDOW) {
    let index = page + (head * WINDOW_TOKENS + slot) * tensor_headDim + channel;
    return f16Value(halfAt(tensor_memory[index / 2u], index));
  }
  let index = page + (slot * tensor_heads + head) * tensor_headDim + channel;
  return f16Value(halfAt(inputs[index / 2u], index));
}
