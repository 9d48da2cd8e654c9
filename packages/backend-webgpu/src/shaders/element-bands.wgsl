// An element of a vector with outlier bands: its byte among the sparse ones, if it has one, says that it is no middle one.

const tensor_NO_OUTLIER = 0xffffffffu;

fn tensor_edge(number: u32) -> f32 {
  return bitcast<f32>(tensor_memory[tensor_edgesWord + number]);
}

fn tensor_parameter(base: u32, slot: u32) -> f32 {
  return f16Value(tensor_field(base, slot, 16u));
}

// The byte of a channel of a chunk, or tensor_NO_OUTLIER; bytes of a chunk are in the order of their channels.
fn tensor_outlier(base: u32, chunk: u32, index: u32) -> u32 {
  var low = 0u;
  if (chunk > 0u) {
    low = tensor_field(base + tensor_endsWord, chunk - 1u, tensor_endWidth);
  }
  var high = tensor_field(base + tensor_endsWord, chunk, tensor_endWidth);
  while (low < high) {
    let middle = (low + high) / 2u;
    let byte = tensor_field(base + tensor_outliersWord, middle, 8u);
    let found = byte & 63u;
    if (found == index) {
      return byte;
    }
    if (found < index) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return tensor_NO_OUTLIER;
}

fn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {
  let base = page + head * tensor_headWords;
  let parameters = page + select(head, tensor_heads, tensor_sharedParameters) * tensor_headWords;
  let code = tensor_code(base, slot, channel);
  let chunks = (tensor_headDim + 63u) / 64u;
  let outlier = tensor_outlier(base, slot * chunks + channel / 64u, channel % 64u);
  if (outlier == tensor_NO_OUTLIER) {
    return tensor_middle(parameters, slot, code);
  }
  if ((outlier & 64u) != 0u) {
    let magnitude = f32(code) * tensor_parameter(parameters + tensor_outerStepWord, slot) +
      tensor_parameter(parameters + tensor_outerMinimumWord, slot);
    return select(tensor_edge(3u) + magnitude, tensor_edge(0u) - magnitude, (outlier & 128u) != 0u);
  }
  return f32(code | ((outlier >> 7u) << 4u)) * tensor_parameter(parameters + tensor_innerStepWord, slot) +
    tensor_parameter(parameters + tensor_innerMinimumWord, slot);
}

fn tensor_middle(parameters: u32, slot: u32, code: u32) -> f32 {
  let first = tensor_parameter(parameters + tensor_middleWord, slot);
  if (tensor_midRise) {
    let magnitude = f32((code & 7u) * 2u + 1u) * (first / 16.0);
    return select(tensor_edge(2u) + magnitude, tensor_edge(1u) - magnitude, (code & 8u) != 0u);
  }
  let shift = f32(code) * tensor_parameter(parameters + tensor_middleStepWord, slot) + first;
  return select(tensor_edge(2u), tensor_edge(1u), shift < 0.0) + shift;
}
