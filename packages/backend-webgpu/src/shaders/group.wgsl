// A group: a run of scratch values, `stride` apart.

struct Group {
  first: u32,
  stride: u32,
}

fn groupValue(group: Group, i: u32) -> f32 {
  return scratchValue(group.first + i * group.stride);
}

fn signedCode(code: u32) -> f32 {
  return f32(i32(code << (32u - tensor_bits)) >> (32u - tensor_bits));
}
