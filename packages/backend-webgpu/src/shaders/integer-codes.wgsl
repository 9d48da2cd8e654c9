// Code words of a page, eight loads at a time, and how they meet parts. Composed once for keys and once for values.

const tensor_fields = 8u / tensor_bits;

struct tensor_Words {
  w0: vec4<u32>,
  w1: vec4<u32>,
  w2: vec4<u32>,
  w3: vec4<u32>,
  w4: vec4<u32>,
  w5: vec4<u32>,
  w6: vec4<u32>,
  w7: vec4<u32>,
}

// Words number 8 batch to 8 batch + 7 of the reduction: all loads are on their way before the first is needed.
fn tensor_load(page: u32, batch: u32, lane: u32) -> tensor_Words {
  let at = page + batch * 8u * LANES + lane;
  return tensor_Words(
    tensor_memory[at],
    tensor_memory[at + LANES],
    tensor_memory[at + 2u * LANES],
    tensor_memory[at + 3u * LANES],
    tensor_memory[at + 4u * LANES],
    tensor_memory[at + 5u * LANES],
    tensor_memory[at + 6u * LANES],
    tensor_memory[at + 7u * LANES],
  );
}

// Field f of every byte of word number j of the reduction, moved to the high bits, against set number `own` of parts.
fn tensor_meet(sums: ptr<function, Sums>, words: vec4<u32>, j: u32, f: u32, own: u32) {
  let codes = (words << vec4<u32>(8u - tensor_bits * (f + 1u))) & vec4<u32>(tensor_fieldMask);
  let at = own * LANES + j * tensor_fields + f;
  let high = tensor_parts[at];
  (*sums).highA += dots(codes.x, high);
  (*sums).highB += dots(codes.y, high);
  (*sums).highC += dots(codes.z, high);
  (*sums).highD += dots(codes.w, high);
  if (PARTS == 2u) {
    let low = tensor_parts[tensor_sets * LANES + at];
    (*sums).lowA += dots(codes.x, low);
    (*sums).lowB += dots(codes.y, low);
    (*sums).lowC += dots(codes.z, low);
    (*sums).lowD += dots(codes.w, low);
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
