// Codes and parameters as numbers. Composed once for keys and once for values.

fn tensor_signed(code: u32) -> f32 {
  return f32(i32(code << (32u - tensor_bits)) >> (32u - tensor_bits));
}

// Entry `entry` of a plane of entries of `width` bits.
fn tensor_field(plane: u32, entry: u32, width: u32) -> u32 {
  let bit = entry * width;
  return extractBits(tensor_memory[plane + bit / 32u], bit % 32u, width);
}

fn tensor_scaleBits(base: u32, entry: u32) -> u32 {
  return tensor_field(base + tensor_scaleWord, entry, tensor_scaleWidth);
}

fn tensor_zero(base: u32, entry: u32) -> f32 {
  return tensor_zeroValue(tensor_field(base + tensor_zeroWord, entry, tensor_zeroWidth));
}
