// An element of a vector with outlier bands: its byte among the sparse ones, if it has one, says that it is no middle one.

const tensor_NO_OUTLIER = 0xffffffffu;
const tensor_CHUNKS = (tensor_headDim + 63u) / 64u;

fn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {
  let base = page + head * tensor_headWords;
  let bytes = tensor_outliersOf(base, slot, channel);
  let outlier = tensor_outlierAt(base, bytes, tensor_findOutlier(base, bytes, channel % 64u), channel % 64u);
  return tensor_bandValue(tensor_parameterBase(page, head), slot, tensor_code(base, slot, channel), outlier);
}

// First byte, and end, of the outliers in the chunk of a channel.
fn tensor_outliersOf(base: u32, slot: u32, channel: u32) -> vec2<u32> {
  let chunk = slot * tensor_CHUNKS + channel / 64u;
  let ends = base + tensor_endsWord;
  // There is nothing before the very first.
  let first = select(tensor_field(ends, max(chunk, 1u) - 1u, tensor_endWidth), 0u, chunk == 0u);
  return vec2<u32>(first, tensor_field(ends, chunk, tensor_endWidth));
}

// The first byte whose index is not below this one: bytes of a chunk are in the order of their channels.
fn tensor_findOutlier(base: u32, bytes: vec2<u32>, index: u32) -> u32 {
  var low = bytes.x;
  var high = bytes.y;
  while (low < high) {
    let middle = (low + high) / 2u;
    if ((tensor_field(base + tensor_outliersWord, middle, 8u) & 63u) < index) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return low;
}

// Byte number `at`, when it belongs to this index.
fn tensor_outlierAt(base: u32, bytes: vec2<u32>, at: u32, index: u32) -> u32 {
  if (at >= bytes.y) {
    return tensor_NO_OUTLIER;
  }
  let byte = tensor_field(base + tensor_outliersWord, at, 8u);
  return select(tensor_NO_OUTLIER, byte, (byte & 63u) == index);
}

// The planes lie in the head block, or behind all of them where heads share parameters.
fn tensor_parameterBase(page: u32, head: u32) -> u32 {
  return page + select(head, tensor_heads, tensor_sharedParameters) * tensor_headWords;
}

fn tensor_parameter(plane: u32, slot: u32) -> f32 {
  return f16Value(tensor_field(plane, slot, 16u));
}

fn tensor_edge(number: u32) -> f32 {
  return bitcast<f32>(tensor_memory[tensor_edgesWord + number]);
}

fn tensor_bandValue(parameters: u32, slot: u32, code: u32, outlier: u32) -> f32 {
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
