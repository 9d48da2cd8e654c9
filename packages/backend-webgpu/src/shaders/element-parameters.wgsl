// Codes and parameters as numbers. Composed once for keys and once for values.

fn tensor_signed(code: u32) -> f32 {
  return f32(i32(code << (32u - tensor_bits)) >> (32u - tensor_bits));
}

fn tensor_half(word: u32, entry: u32) -> u32 {
  return halfAt(tensor_memory[word + entry / 2u], entry);
}
