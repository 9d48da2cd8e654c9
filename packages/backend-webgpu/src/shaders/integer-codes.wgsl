// How code words of a page meet parts. Composed once for keys and once for values.

// Field f of every byte of a word, moved to the high bits.
fn tensor_field(words: vec4<u32>, f: u32) -> vec4<u32> {
  return (words << vec4<u32>(8u - tensor_bits * (f + 1u))) & vec4<u32>(tensor_fieldMask);
}

// Two words of codes against vectors `at` and `at + 1` of set number `own` of parts. Two dot products and a sum are added in
// one instruction.
fn tensor_meet(sums: ptr<function, Sums>, first: vec4<u32>, second: vec4<u32>, at: u32, own: u32) {
  let high = parts[tensor_firstSet + own][at];
  let nextHigh = parts[tensor_firstSet + own][at + 1u];
  (*sums).highA += dots(first.x, high) + dots(second.x, nextHigh);
  (*sums).highB += dots(first.y, high) + dots(second.y, nextHigh);
  (*sums).highC += dots(first.z, high) + dots(second.z, nextHigh);
  (*sums).highD += dots(first.w, high) + dots(second.w, nextHigh);
  if (PARTS == 2u) {
    let low = parts[tensor_firstSet + tensor_sets + own][at];
    let nextLow = parts[tensor_firstSet + tensor_sets + own][at + 1u];
    (*sums).lowA += dots(first.x, low) + dots(second.x, nextLow);
    (*sums).lowB += dots(first.y, low) + dots(second.y, nextLow);
    (*sums).lowC += dots(first.z, low) + dots(second.z, nextLow);
    (*sums).lowD += dots(first.w, low) + dots(second.w, nextLow);
  }
}

// f16 parameters of the lane's four channels in group number `group` along tokens.
fn tensor_channelParameters(plane: u32, group: u32, lane: u32) -> vec4<f32> {
  return fourHalves(tensor_memory[plane + group * (DIM / 8u) + lane / 2u], (lane & 1u) != 0u);
}

// f16 parameters of the lane's four tokens: for each the groups along channels.
fn tensor_tokenParameters(plane: u32, lane: u32) -> Rows {
  if (tensor_groupsPerRow == 1u) {
    let tokens = fourHalves(tensor_memory[plane + lane / 2u], (lane & 1u) != 0u);
    return Rows(vec4<f32>(tokens.x), vec4<f32>(tokens.y), vec4<f32>(tokens.z), vec4<f32>(tokens.w));
  }
  if (tensor_groupsPerRow == 2u) {
    let words = tensor_memory[plane + lane];
    let low = fourHalves(words, false);
    let high = fourHalves(words, true);
    return Rows(low.xyxy, low.zwzw, high.xyxy, high.zwzw);
  }
  let first = tensor_memory[plane + 2u * lane];
  let second = tensor_memory[plane + 2u * lane + 1u];
  return Rows(fourHalves(first, false), fourHalves(first, true), fourHalves(second, false), fourHalves(second, true));
}
