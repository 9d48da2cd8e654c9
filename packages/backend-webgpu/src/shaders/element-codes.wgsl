// Codes and parameters of a packed page. Composed once for keys and once for values.

fn tensor_code(page: u32, row: u32, i: u32) -> u32 {
  let bit = i * tensor_bits;
  let at = page + row * tensor_rowWords + bit / 32u;
  let shift = bit % 32u;
  var bits = tensor_memory[at] >> shift;
  if (shift + tensor_bits > 32u) {
    bits |= tensor_memory[at + 1u] << (32u - shift);
  }
  return bits & tensor_codeMask;
}

fn tensor_signed(code: u32) -> f32 {
  return f32(i32(code << (32u - tensor_bits)) >> (32u - tensor_bits));
}

fn tensor_half(word: u32, entry: u32) -> u32 {
  return halfAt(tensor_memory[word + entry / 2u], entry);
}
