// The code of an element in a page in canonical order. `base` is the first word of the head.

fn tensor_code(base: u32, slot: u32, channel: u32) -> u32 {
  let row = select(slot, channel, tensor_alongTokens);
  let bit = select(channel, slot, tensor_alongTokens) * tensor_bits;
  let at = base + row * tensor_rowWords + bit / 32u;
  let shift = bit % 32u;
  var bits = tensor_memory[at] >> shift;
  if (shift + tensor_bits > 32u) {
    bits |= tensor_memory[at + 1u] << (32u - shift);
  }
  return bits & tensor_codeMask;
}
