// Dot products of a run of code words with parts, and the parameters beside them. Composed once for keys and once for values.

const tensor_codesPerWord = 32u / tensor_bits;
const tensor_fields = 8u / tensor_bits;

// Field number f of every byte, moved to its high bits.
fn tensor_field(words: vec4<u32>, f: u32) -> vec4<u32> {
  return (words << vec4<u32>(8u - tensor_bits * (f + 1u))) & vec4<u32>(tensor_fieldMask);
}

// Words `first` to `end` of the reduction; `set` is the set of parts to meet them.
fn tensor_sums(page: u32, first: u32, end: u32, setOfParts: u32, lane: u32) -> Sums {
  var sums = Sums();
  for (var j = first; j < end; j += 1u) {
    let words = tensor_memory[page + j * LANES + lane];
    for (var f = 0u; f < tensor_fields; f += 1u) {
      let codes = tensor_field(words, f);
      let at = setOfParts * LANES + j * tensor_fields + f;
      let high = tensor_parts[at];
      sums.highA += dots(codes.x, high);
      sums.highB += dots(codes.y, high);
      sums.highC += dots(codes.z, high);
      sums.highD += dots(codes.w, high);
      if (PARTS == 2u) {
        let low = tensor_parts[tensor_sets * LANES + at];
        sums.lowA += dots(codes.x, low);
        sums.lowB += dots(codes.y, low);
        sums.lowC += dots(codes.z, low);
        sums.lowD += dots(codes.w, low);
      }
    }
  }
  return sums;
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
